/// Why a module of the vehicle refused a diagnostic request, in words (ISO 14229-1, annex A).
package enum NegativeResponse {
    package static func words(of code: UInt32) -> String {
        words[code]
            ?? (0x38...0x4F ~= code ? "reserved for security" : "a code of the manufacturer")
    }

    private static let words: [UInt32: String] = [
        0x10: "general reject", 0x11: "service not supported", 0x12: "sub-function not supported",
        0x13: "incorrect message length or format", 0x14: "response too long",
        0x21: "busy, repeat the request", 0x22: "conditions not correct",
        0x24: "request sequence error", 0x25: "no response from a subnet component",
        0x26: "a failure prevents the execution", 0x31: "request out of range",
        0x33: "security access denied", 0x34: "authentication required", 0x35: "invalid key",
        0x36: "exceeded number of attempts", 0x37: "required time delay not expired",
        0x70: "upload or download not accepted", 0x71: "transfer of data suspended",
        0x72: "general programming failure", 0x73: "wrong block sequence counter",
        0x78: "request received, response pending",
        0x7E: "sub-function not supported in the active session",
        0x7F: "service not supported in the active session",
        0x81: "engine speed too high", 0x82: "engine speed too low", 0x83: "engine is running",
        0x84: "engine is not running", 0x85: "engine run time too short",
        0x86: "temperature too high", 0x87: "temperature too low", 0x88: "vehicle speed too high",
        0x89: "vehicle speed too low", 0x8A: "throttle or pedal too high",
        0x8B: "throttle or pedal too low", 0x8C: "transmission not in neutral",
        0x8D: "transmission not in gear", 0x8F: "brake not closed",
        0x90: "shifter lever not in park", 0x91: "torque converter clutch locked",
        0x92: "voltage too high", 0x93: "voltage too low",
    ]
}
