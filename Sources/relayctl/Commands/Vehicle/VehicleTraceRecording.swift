import ControlAPI
import NIOCore

/// Writes the vehicle interface's messages in the format of the OpenXC tools: one object per line, with
/// the time in seconds at which relayd received it (`relayctl record --format openxc`). `replay:FILE` and
/// the trace readers of all frameworks play it; that of the iOS framework reads times as milliseconds.
enum VehicleTraceRecording {
    /// Unit of the times since 1970.
    enum TimeUnit {
        /// With a fraction.
        case seconds
        case milliseconds

        func number(_ time: Timestamp) -> Double {
            let milliseconds = Double(time.millisecondsSince1970)
            return self == .seconds ? milliseconds / 1000 : milliseconds
        }
    }

    /// Writes until relayd or the reader ends, or ^C.
    static func follow(_ client: ControlClient, times: TimeUnit) async throws {
        let screen = Output.current
        screen.follow()
        let kinds = ["measurement", "can", "diagnostic", "response", "missed"].map { "kind=\($0)" }
        let path = Routes.vehicleStream + "?" + kinds.joined(separator: "&")
        let end = try await client.lines(of: ControlQuestion(path: path)) { lines in
            var text = ""
            for line in lines {
                let bytes = Array(line.readableBytesView)
                if let message = try? APICoding.decode(VehicleMessageReport.self, from: bytes) {
                    if let object = Self.line(message, times: times) {
                        text += object + "\n"
                    } else if message.kind == .missed {
                        warn(SafeText.clean(message.text))
                    }
                } else if let note = try? APICoding.decode(StreamNote.self, from: bytes),
                    let missed = note.missed
                {
                    warn("\(missed) messages were missed")
                }
            }
            return text.isEmpty || screen.write(text)
        }
        if case .brokenOff(let path) = end { throw ControlClientError.brokenOff(path) }
    }

    private static func warn(_ words: String) {
        Output.current.write(
            "relayctl: \(words); they are not in the trace\n", to: .error)
    }

    /// Returns nil for messages that are not from the vehicle interface.
    static func line(_ message: VehicleMessageReport, times: TimeUnit = .seconds) -> String? {
        guard message.from == .vehicle else { return nil }
        var object = TraceObject(timestamp: times.number(message.at))
        switch message.kind {
        case .measurement:
            (object.name, object.value, object.event) = (message.name, message.value, message.event)
        case .can:
            (object.bus, object.id, object.data) = (message.bus, message.id, message.data)
            object.frameFormat = message.frameFormat
        case .diagnostic:
            (object.bus, object.id, object.mode) = (message.bus, message.id, message.mode)
            object.pid = message.pid == 0 ? nil : message.pid
            (object.success, object.value) = (message.success, message.value)
            object.negativeResponseCode = message.negativeResponseCode
            (object.payload, object.frame) = (message.payload, message.frame)
            object.totalSize = message.totalSize
        case .response:
            (object.commandResponse, object.status) = (message.command, message.status)
            object.message = message.message.flatMap { $0.isEmpty ? nil : $0 }
        default: return nil
        }
        guard let bytes = try? APICoding.encodeLine(object) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The message as it is on the wire, with its time.
    private struct TraceObject: Encodable {
        /// Since 1970.
        var timestamp: Double
        var name: String?
        var value: VehicleScalar?
        var event: VehicleScalar?
        var bus: Int?
        var id: Int?
        var data: String?
        var frameFormat: String?
        var mode: Int?
        var pid: Int?
        var success: Bool?
        var negativeResponseCode: Int?
        var payload: String?
        var frame: Int?
        var totalSize: Int?
        var commandResponse: String?
        var message: String?
        var status: Bool?

        enum CodingKeys: String, CodingKey {
            case timestamp, name, value, event, bus, id, data
            case frameFormat = "frame_format"
            case mode, pid, success
            case negativeResponseCode = "negative_response_code"
            case payload, frame
            case totalSize = "total_size"
            case commandResponse = "command_response"
            case message, status
        }
    }
}
