// The built relayd with stand-ins for vehicle interfaces: the simulated one, and traces.

import ControlAPI
import Foundation
import NIOCore
import OpenXCProtocol
import RelayTesting
import Testing

@Suite("The built relayd without a vehicle interface")
struct VehicleSourceTests {
    private static func run(
        _ accessory: String, _ options: String = "", _ body: (Relayd) async throws -> Void
    ) async throws {
        let config = "openxc:\n  listen: 127.0.0.1:0\n  queue: 8 MiB\n  format: lines\n" + options
        try await Relayd.run(accessory: accessory, config: config) { try await body($0) }
    }

    /// Reads until these bytes have come.
    private static func read(_ client: FramePeer, until words: String) async throws {
        var heard: [UInt8] = []
        let end = Array(words.utf8)
        while heard.count < end.count || !heard.suffix(end.count).elementsEqual(end) {
            heard += Array(buffer: try await client.next(bytes: 1))
        }
    }

    @Test("the simulated one drives, and answers whoever asks")
    func simulated() async throws {
        try await Self.run("sim:openxc?version=9.9.9") { relayd in
            let status = try await relayd.until("it says what it is") { $0.accessory.name != nil }
            #expect(status.accessory.name == "OpenXC FORDBOARD 9.9.9")
            let client = try await relayd.connectApp()
            let other = try await relayd.connectApp()
            try await client.send(bytes: ByteBuffer(string: #"{"command":"device_id"}"# + "\0"))
            try await Self.read(
                client,
                until: #"{"command_response":"device_id","message":"0012F3000001","status":true}"#
                    + "\n")
            try await Self.read(other, until: #"{"name":"vehicle_speed","value":"#)
        }
    }

    @Test("an option that it does not have is refused at the start, with those that it has")
    func unknownOption() async throws {
        let done = try await Program.relayd.run([
            "--check-config", "--accessory", "sim:openxc?colour=red",
        ])
        #expect(done.ending != .exited(0))
        #expect(done.errors.contains("unknown option \"colour\" of sim:openxc; known: "))
    }

    /// A trace whose rounds can be told apart, and what each of its messages is.
    private static func trace(
        _ name: String, in directory: TemporaryDirectory
    ) throws -> (path: String, messages: [VehicleMessage]) {
        let file = Checkout.fixtures.appending(path: "openxc").appending(path: name)
        let marker = #"{"name":"beginning_of_the_round","value":1}"#
        let text = marker + "\n" + String(decoding: try Data(contentsOf: file), as: UTF8.self)
        let path = try directory.write(text, to: name)
        var messages: [VehicleMessage] = []
        for line in text.split(separator: "\n") {
            var message = try VehicleMessage(json: Array(line.utf8).span)
            // A trace's first line is not a message.
            if case .header = message.content { continue }
            // Seconds in a trace, milliseconds on a link.
            message.timestamp = message.timestamp.map { ($0 * 1000).rounded() }
            messages.append(message)
        }
        return (path, messages)
    }

    @Test(
        "a trace means the same to clients of all forms at once, round by round",
        arguments: ["python-tests-trace.json", "driving-excerpt.json", "generated-all-types.json"])
    func traces(name: String) async throws {
        try await TemporaryDirectory.run { directory in
            let (path, messages) = try Self.trace(name, in: directory)
            try await Self.run("replay:\(path)?speed=max&loop=on") { relayd in
                // In the first round, the trace answers what relayd itself has asked.
                _ = try await relayd.process.errors.first(containing: "it starts again")
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for framing in MessageFraming.allCases {
                        let client = try await relayd.connectApp()
                        if framing != .lines {
                            let format = framing == .protobuf ? "protobuf" : "json"
                            try await client.send(
                                bytes: ByteBuffer(
                                    string: #"{"command":"payload_format","format":"\#(format)"}"#
                                        + "\0"))
                        }
                        group.addTask { try await Self.expectRound(of: messages, framing, client) }
                    }
                    try await group.waitForAll()
                }
            }
        }
    }

    /// Expects a whole round of the trace. A client that begins with lines and asks for JSON has lines already.
    private static func expectRound(
        of messages: [VehicleMessage], _ framing: MessageFraming, _ client: FramePeer
    ) async throws {
        let asksForForm = framing != .lines
        let framing = framing == .json ? MessageFraming.lines : framing
        var expected: [UInt8] = []
        var marker: [UInt8] = []
        for message in messages {
            try framing.append(message, to: &expected)
            if marker.isEmpty { marker = expected }
        }
        var heard: [UInt8] = []
        // The answer to that stands somewhere among the messages.
        let answer = Array(#""payload_format","message":"","status":true}"#.utf8)
        while asksForForm {
            heard = heard.suffix(answer.count) + Array(buffer: try await client.next(bytes: 4096))
            guard let end = heard.firstRange(of: answer)?.upperBound else { continue }
            heard.removeFirst(end)
            break
        }
        while true {
            heard += Array(buffer: try await client.next(bytes: 4096))
            guard let start = heard.firstRange(of: marker)?.lowerBound else { continue }
            guard heard.count - start >= expected.count else { continue }
            let round = Array(heard[start...].prefix(expected.count))
            let same = zip(round, expected).prefix { $0 == $1 }.count
            // As text, because whole rounds would fill the report.
            let place = String(decoding: round[max(0, same - 200)...].prefix(400), as: UTF8.self)
            #expect(same == expected.count, "\(framing): \(place)")
            return
        }
    }

    @Test("bad lines are told and skipped, and a compressed trace is read")
    func badLines() async throws {
        try await TemporaryDirectory.run { directory in
            let path = try directory.write(
                "rubbish\n" + #"{"name":"a","value":1,"timestamp":5.0}"# + "\n{\"name\":\n"
                    + #"{"name":"b","value":2,"timestamp":4.0}"# + "\n", to: "drive.json")
            let packed = try await ChildProcess.run(
                "gzip", ["-k", path], environment: Program.environment())
            #expect(packed.ending == .exited(0))
            try await Self.run("replay:\(path).gz?loop=on") { relayd in
                let client = try await relayd.connectApp()
                try await Self.read(
                    client,
                    until: #"{"timestamp":5000,"name":"a","value":1}"# + "\n"
                        + #"{"timestamp":4000,"name":"b","value":2}"# + "\n")
                _ = try await relayd.process.errors.first(containing: "line 1 is skipped")
                _ = try await relayd.process.errors.first(
                    containing: "the trace has ended: 2 messages, 2 lines skipped")
            }
        }
    }

    @Test("a trace that is gone says so, and is opened when it is there")
    func absent() async throws {
        try await TemporaryDirectory.run { directory in
            let path = directory.file("drive.json")
            try await Relayd.run(accessory: "replay:\(path)") { relayd in
                _ = try await relayd.process.errors.first(containing: "there is no file \(path)")
            }
        }
    }

    @Test(
        "options that do not go together are refused",
        arguments: [
            ("speed=2&interval=20ms", "has speed= and interval="),
            ("interval=fast", "expected the time between two messages, 1ms to 60000ms"),
        ])
    func options(text: String, words: String) async throws {
        let file = Checkout.fixtures.appending(path: "openxc/python-tests-trace.json").path
        let done = try await Program.relayd.run([
            "--check-config", "--accessory", "replay:\(file)?\(text)",
        ])
        #expect(done.ending != .exited(0))
        #expect(done.errors.contains(words), "\(done.errors)")
    }
}
