/// A parameter of mode 1 of OBD-II (SAE J1979), as bytes and as a value.
struct Parameter: Sendable {
    var pid: UInt32
    /// The data bytes for the drive's present state.
    var bytes: @Sendable (Drive) -> [UInt8]
    /// Converts the bytes to a value; nil where they are bits.
    var value: (@Sendable ([UInt8]) -> Double)?

    static func one(
        _ pid: UInt32, scale: Double = 1, offset: Double = 0,
        _ value: @escaping @Sendable (Drive) -> Double
    ) -> Parameter {
        Parameter(
            pid: pid,
            bytes: { [UInt8(max(0, min(255, ((value($0) - offset) / scale).rounded())))] },
            value: { Double($0.first ?? 0) * scale + offset })
    }

    static func two(
        _ pid: UInt32, scale: Double = 1, _ value: @escaping @Sendable (Drive) -> Double
    ) -> Parameter {
        Parameter(
            pid: pid,
            bytes: {
                let raw = UInt16(max(0, min(65_535, (value($0) / scale).rounded())))
                return [UInt8(raw >> 8), UInt8(raw & 0xFF)]
            },
            value: { $0.count < 2 ? 0 : Double(UInt16($0[0]) << 8 | UInt16($0[1])) * scale })
    }

    static func bits(_ pid: UInt32, _ bytes: [UInt8]) -> Parameter {
        Parameter(pid: pid, bytes: { _ in bytes }, value: nil)
    }
}

/// The parameters that the simulated engine supports.
enum ParameterTable {
    private static let percent = 100.0 / 255

    /// In ascending order, without those that list the supported ones.
    private static let known: [Parameter] = [
        .bits(0x01, [0x00, 0x07, 0xE5, 0x00]), .bits(0x03, [0x02, 0x00]),
        .one(0x04, scale: percent) { $0.train.load * 100 },
        .one(0x05, offset: -40) { $0.train.coolant },
        .one(0x0A, scale: 3) { $0.train.engine == .runs ? 350 : 0 },
        .one(0x0B) { $0.manifoldPressure },
        .two(0x0C, scale: 0.25) { $0.train.engineSpeed },
        .one(0x0D) { $0.kilometresPerHour },
        .one(0x0F, offset: -40) { _ in Drivetrain.ambient + 8 },
        .two(0x10, scale: 0.01) { $0.airFlow },
        .one(0x11, scale: percent) { $0.throttle },
        .bits(0x1C, [0x06]),
        .two(0x1F) { $0.train.engine == .runs ? $0.train.secondsSinceStart : 0 },
        .two(0x21) { _ in 0 },
        .one(0x2F, scale: percent) { $0.fuelLevel },
        .one(0x33) { _ in 101 },
        .two(0x42, scale: 0.001) { $0.train.engine == .runs ? 14.1 : 12.4 },
        .one(0x46, offset: -40) { _ in Drivetrain.ambient },
        .one(0x4C, scale: percent) { $0.throttle },
        .bits(0x51, [0x01]),
        .one(0x52, scale: percent) { _ in 10 },
        .one(0x5A, scale: percent) { $0.train.pedal },
        .one(0x5C, offset: -40) { $0.train.coolant + 4 },
        .two(0x5E, scale: 0.05) { $0.train.litresPerHour },
        .one(0x62, offset: -125) { $0.train.load * 100 },
        .two(0x63) { _ in 210 },
    ]

    static let all: [UInt32: Parameter] = {
        var all = Dictionary(uniqueKeysWithValues: known.map { ($0.pid, $0) })
        // 0x00, 0x20, 0x40: which of the next 32 are supported, and whether there are more.
        let last = known.last?.pid ?? 0
        for first in stride(from: UInt32(0), through: last, by: 0x20) {
            var bits: UInt32 = last > first + 0x20 ? 1 : 0
            for parameter in known where (first + 1...first + 0x20).contains(parameter.pid) {
                bits |= 1 << (first + 0x20 - parameter.pid)
            }
            let bytes = withUnsafeBytes(of: bits.bigEndian) { Array($0) }
            all[first] = Parameter(pid: first, bytes: { _ in bytes }, value: nil)
        }
        return all
    }()

    /// The parameters that the vehicle interface requests by itself when told to (firmware, `predefined_obd2`), and
    /// how often.
    static let predefined: [(name: String, pid: UInt32, hertz: Int)] = [
        ("engine_speed", 0x0C, 5), ("vehicle_speed", 0x0D, 5), ("engine_load", 0x04, 5),
        ("engine_coolant_temperature", 0x05, 1), ("barometric_pressure", 0x33, 1),
        ("commanded_throttle_position", 0x4C, 1), ("fuel_level", 0x2F, 1),
        ("intake_air_temperature", 0x0F, 1), ("intake_manifold_pressure", 0x0B, 1),
        ("running_time", 0x1F, 1), ("throttle_position", 0x11, 5), ("fuel_pressure", 0x0A, 1),
        ("mass_airflow", 0x10, 5), ("accelerator_pedal_position", 0x5A, 5),
        ("ethanol_fuel_percentage", 0x52, 1), ("engine_oil_temperature", 0x5C, 1),
        ("engine_torque", 0x63, 1),
    ]
}

extension Drive {
    /// kPa.
    fileprivate var manifoldPressure: Double {
        train.engine == .runs ? 28 + 70 * train.load : 101
    }
    /// g/s: each litre of fuel an hour burns about 3 g of air a second.
    fileprivate var airFlow: Double { train.litresPerHour * 3.0 }
    /// Percent.
    fileprivate var throttle: Double { train.engine == .runs ? 12 + 0.8 * train.pedal : 0 }
}
