// Recorded and generated traces, read line by line and written in the other formats.

import Foundation
import OpenXCProtocol
import Testing

@Suite("OpenXC trace files")
struct TraceFileTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Fixtures/openxc")

    private static func lines(_ name: String) throws -> [[UInt8]] {
        try Array(Data(contentsOf: folder.appending(path: name))).split(separator: 0x0A)
            .map(Array.init)
    }

    @Test(
        "mean the same in all forms",
        arguments: [
            ("python-tests-trace.json", 1000), ("driving-excerpt.json", 3457),
            ("driving-thinned.json", 2160), ("generated-all-types.json", 1579),
        ])
    func equalMeaning(name: String, count: Int) throws {
        let messages = try Self.lines(name).map { try VehicleMessage(json: $0.span) }
        #expect(messages.count == count)
        var streams: [MessageFraming: [UInt8]] = [:]
        var lost = 0
        for message in messages {
            // On a link, times are in milliseconds.
            var message = message
            message.timestamp = message.timestamp.map { ($0 * 1000).rounded() }
            for framing in MessageFraming.allCases {
                do {
                    try framing.append(message, to: &streams[framing, default: []])
                } catch {
                    lost += 1
                }
            }
        }
        let read = streams.mapValues { bytes in
            var reader = VehicleMessageReader(recovery: .nextBeginning)
            reader.append(bytes)
            var read: [VehicleMessage] = []
            while let message = reader.next() { read.append(message) }
            #expect(reader.counts.failures == 0 && reader.counts.garbageBytes == 0)
            return read
        }
        #expect(read[.json] == read[.lines])
        let header = messages.count { if case .header = $0.content { true } else { false } }
        #expect(lost == header, "protobuf cannot express a header")
        let sayable = read[.json]?.compactMap { message -> VehicleMessage? in
            if case .header = message.content { return nil }
            var message = message
            message.extras = nil
            return message
        }
        #expect(read[.protobuf] == sayable)
        #expect(read[.json]?.map(\.content) == messages.map(\.content))
    }

    @Test("awkward lines are read or refused one by one")
    func awkward() throws {
        let outcomes = try Self.lines("generated-awkward.json").map { line -> String in
            do {
                return switch try VehicleMessage(json: line.span).content {
                case .measurement(let measurement): measurement.name
                case .can: "can"
                case .diagnostic: "diagnostic"
                case .header: "header"
                case .unknown: "unknown"
                case .command, .response: "command"
                }
            } catch {
                return "\(error)"
            }
        }
        #expect(
            outcomes == [
                "header", "steering_wheel_angle", "notJSON", "vehicle_speed", "vehicle_speed",
                "engine_speed", "engine_speed", "notJSON", "notJSON", "notJSON", "wrongKind",
                "caf\u{E9}", "raw_latin1", "unknown", "diagnostic", "can", "door_status", "notJSON",
                "vehicle_speed", "vehicle_speed",
            ])
    }
}
