// OpenXC messages alone: reading and writing them.

import OpenXCProtocol

/// Reads and writes the messages of a vehicle interface during a drive.
enum OpenXCBenchmark: Benchmark {
    static let name = "openxc"
    static let summary = "OpenXC messages: JSON and protobuf read and written"

    private static let count = 10_000
    /// The size of a read from a busy socket.
    private static let readBytes = 64 << 10

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: ["numbers, states, events and CAN frames, one thread"])
        let messages = messages()
        for framing in [MessageFraming.json, .protobuf] {
            var stream: [UInt8] = []
            for message in messages { try framing.append(message, to: &stream) }
            let reading = try Micro(setting, operations: count) {
                var reader = VehicleMessageReader(recovery: .nextBeginning)
                var read = 0
                for start in stride(from: 0, to: stream.count, by: readBytes) {
                    reader.append(stream[start..<min(start + readBytes, stream.count)])
                    while reader.next() != nil { read += 1 }
                }
                guard read == count else { throw BenchmarkError("messages were lost") }
            }
            let writing = try Micro(setting, operations: count) {
                var bytes: [UInt8] = []
                bytes.reserveCapacity(stream.count)
                for message in messages { try framing.append(message, to: &bytes) }
            }
            findings.add(framing.rawValue, "read", reading, per: "message")
            findings.add(framing.rawValue, "written", writing, per: "message")
            if framing == .json {
                findings.bound(
                    "JSON messages read in a second", 1e9 / reading.nanoseconds.median, .atLeast,
                    500_000, "")
            }
        }
        return findings
    }

    private static func messages() -> [VehicleMessage] {
        (0..<count).map { index in
            let time = 1_385_133_351_285 + Double(index)
            switch index % 10 {
            case 0:
                return VehicleMessage(
                    .can(
                        CANMessage(
                            bus: 1, id: UInt32(index % 0x800), data: [1, 2, 3, 4, 5, 6, 7, 8])),
                    timestamp: time)
            case 1:
                return VehicleMessage(
                    .measurement(
                        OpenXCProtocol.Measurement(
                            "door_status", .text("driver"), event: .flag(index % 3 == 0))),
                    timestamp: time)
            case 2:
                return VehicleMessage(
                    .measurement(OpenXCProtocol.Measurement("headlamp_status", .flag(true))),
                    timestamp: time)
            default:
                return VehicleMessage(
                    .measurement(
                        OpenXCProtocol.Measurement(
                            "steering_wheel_angle", .number(Double(index) * 0.137))),
                    timestamp: time)
            }
        }
    }
}
