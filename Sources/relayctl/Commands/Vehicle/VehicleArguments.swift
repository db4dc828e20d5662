import ArgumentParser
import ControlAPI
import OpenXCProtocol

/// Checks arguments that relayd would refuse as not understood, and reports them as command-line errors.
enum VehicleArguments {
    static func checkBus(_ bus: Int?) throws(ValidationError) {
        if let bus { try check(bus, "--bus", VehicleLimits.buses, example: "--bus 1") }
    }

    /// - Parameter name: The option as it is typed on the command line.
    static func check(
        _ value: Int, _ name: String, _ range: ClosedRange<Int>, example: String
    ) throws(ValidationError) {
        guard !range.contains(value) else { return }
        throw ValidationError(
            "\(name) is \(value); expected \(range.lowerBound) to \(range.upperBound), e.g. \(example)"
        )
    }

    static func checkIdentifiers(_ text: String) throws(ValidationError) {
        guard VehicleIdentifiers(text) == nil else { return }
        throw ValidationError(
            "--id is \(SafeText.clean(text)); expected an identifier or a range, such as 0x7e8 or 0x700-0x7ff"
        )
    }

    static func checkBytes(_ text: String?, _ name: String) throws(ValidationError) {
        guard let text,
            HexText.bytes(text, maximum: VehicleLimits.payloadBytes) == nil
        else { return }
        throw ValidationError(
            "\(name) is \"\(SafeText.clean(text))\"; expected at most \(VehicleLimits.payloadBytes) bytes as "
                + "pairs of hexadecimal digits, e.g. \(name) 0102")
    }

    static func checkFormat(_ text: String?) throws(ValidationError) {
        guard let text, CANMessage.FrameFormat(rawValue: text) == nil else { return }
        throw ValidationError(
            "--frame-format is \"\(SafeText.clean(text))\"; expected standard or extended")
    }
}
