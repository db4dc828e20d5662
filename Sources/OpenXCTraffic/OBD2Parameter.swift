/// A parameter of OBD-II mode 1 that is a single number: value = integer × scale + offset (SAE J1979,
/// "PIDs"). Parameters that are bits or several numbers are not listed.
package struct OBD2Parameter: Hashable, Sendable {
    package let pid: UInt32
    package let name: String
    package let unit: String
    /// Bytes of the answer, without mode and PID.
    let bytes: Int
    let scale: Double
    let offset: Double
    /// Whether firmware sends this value in its unit; it sends the others as the bytes in one whole number
    /// (uds-c, as in vi-firmware 8.2.1).
    let isDecodedByFirmware: Bool

    package static let mode: UInt32 = 1

    package static func find(mode: UInt32, pid: UInt32) -> OBD2Parameter? {
        mode == Self.mode ? byPID[pid] : nil
    }

    /// The value of an answer, in `unit`.
    ///
    /// - Parameters:
    ///   - value: As the vehicle interface sent it.
    ///   - payload: The bytes behind mode and PID, if they came in place of a value.
    /// - Returns: Nil for an answer of the wrong length.
    package func decoded(value: Double?, payload: [UInt8]?) -> Double? {
        if let value {
            guard !isDecodedByFirmware else { return value }
            let end = Double(UInt64(1) << UInt64(8 * bytes))
            guard value >= 0, value < end, value == value.rounded() else { return nil }
            return value * scale + offset
        }
        guard let payload, payload.count == bytes else { return nil }
        let number = payload.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Double(number) * scale + offset
    }

    private static let byPID = Dictionary(uniqueKeysWithValues: all.map { ($0.pid, $0) })

    private static let percent = 100.0 / 255

    private static let all: [OBD2Parameter] = [
        .init(0x04, "calculated engine load", "%", scale: percent, firmware: true),
        .init(0x05, "engine coolant temperature", "°C", offset: -40, firmware: true),
        .init(0x06, "short term fuel trim, bank 1", "%", scale: 100.0 / 128, offset: -100),
        .init(0x07, "long term fuel trim, bank 1", "%", scale: 100.0 / 128, offset: -100),
        .init(0x08, "short term fuel trim, bank 2", "%", scale: 100.0 / 128, offset: -100),
        .init(0x09, "long term fuel trim, bank 2", "%", scale: 100.0 / 128, offset: -100),
        .init(0x0A, "fuel pressure", "kPa", scale: 3, firmware: true),
        .init(0x0B, "intake manifold pressure", "kPa", firmware: true),
        .init(0x0C, "engine speed", "rpm", bytes: 2, scale: 0.25, firmware: true),
        .init(0x0D, "vehicle speed", "km/h", firmware: true),
        .init(0x0E, "timing advance", "°", scale: 0.5, offset: -64),
        .init(0x0F, "intake air temperature", "°C", offset: -40, firmware: true),
        .init(0x10, "mass air flow", "g/s", bytes: 2, scale: 0.01, firmware: true),
        .init(0x11, "throttle position", "%", scale: percent, firmware: true),
        .init(0x1F, "run time since engine start", "s", bytes: 2),
        .init(0x21, "distance with malfunction lamp on", "km", bytes: 2),
        .init(0x22, "fuel rail pressure", "kPa", bytes: 2, scale: 0.079),
        .init(0x23, "fuel rail gauge pressure", "kPa", bytes: 2, scale: 10),
        .init(0x2C, "commanded EGR", "%", scale: percent),
        .init(0x2D, "EGR error", "%", scale: 100.0 / 128, offset: -100),
        .init(0x2E, "commanded evaporative purge", "%", scale: percent),
        .init(0x2F, "fuel level", "%", scale: percent, firmware: true),
        .init(0x30, "warm-ups since codes cleared", ""),
        .init(0x31, "distance since codes cleared", "km", bytes: 2),
        .init(0x33, "barometric pressure", "kPa", firmware: true),
        .init(
            0x3C, "catalyst temperature, bank 1 sensor 1", "°C", bytes: 2, scale: 0.1, offset: -40),
        .init(
            0x3D, "catalyst temperature, bank 2 sensor 1", "°C", bytes: 2, scale: 0.1, offset: -40),
        .init(
            0x3E, "catalyst temperature, bank 1 sensor 2", "°C", bytes: 2, scale: 0.1, offset: -40),
        .init(
            0x3F, "catalyst temperature, bank 2 sensor 2", "°C", bytes: 2, scale: 0.1, offset: -40),
        .init(0x42, "control module voltage", "V", bytes: 2, scale: 0.001),
        .init(0x43, "absolute load", "%", bytes: 2, scale: percent),
        .init(0x44, "commanded air-fuel equivalence ratio", "", bytes: 2, scale: 2.0 / 65536),
        .init(0x45, "relative throttle position", "%", scale: percent, firmware: true),
        .init(0x46, "ambient air temperature", "°C", offset: -40, firmware: true),
        .init(0x47, "absolute throttle position B", "%", scale: percent),
        .init(0x48, "absolute throttle position C", "%", scale: percent),
        .init(0x49, "accelerator pedal position D", "%", scale: percent),
        .init(0x4A, "accelerator pedal position E", "%", scale: percent),
        .init(0x4B, "accelerator pedal position F", "%", scale: percent),
        .init(0x4C, "commanded throttle actuator", "%", scale: percent, firmware: true),
        .init(0x4D, "time run with malfunction lamp on", "min", bytes: 2),
        .init(0x4E, "time since codes cleared", "min", bytes: 2),
        .init(0x52, "ethanol fuel", "%", scale: percent, firmware: true),
        .init(0x59, "absolute fuel rail pressure", "kPa", bytes: 2, scale: 10),
        .init(0x5A, "relative accelerator pedal position", "%", scale: percent, firmware: true),
        .init(0x5B, "hybrid battery remaining life", "%", scale: percent),
        .init(0x5C, "engine oil temperature", "°C", offset: -40, firmware: true),
        .init(0x5D, "fuel injection timing", "°", bytes: 2, scale: 1.0 / 128, offset: -210),
        .init(0x5E, "engine fuel rate", "L/h", bytes: 2, scale: 0.05),
        .init(0x61, "demanded engine torque", "%", offset: -125),
        .init(0x62, "actual engine torque", "%", offset: -125, firmware: true),
        .init(0x63, "engine reference torque", "Nm", bytes: 2),
        .init(0xA6, "odometer", "km", bytes: 4, scale: 0.1),
    ]

    private init(
        _ pid: UInt32, _ name: String, _ unit: String, bytes: Int = 1, scale: Double = 1,
        offset: Double = 0, firmware isDecodedByFirmware: Bool = false
    ) {
        self.pid = pid
        self.name = name
        self.unit = unit
        self.bytes = bytes
        self.scale = scale
        self.offset = offset
        self.isDecodedByFirmware = isDecodedByFirmware
    }
}
