// The built relayd between a vehicle interface and its clients.

import ControlAPI
import Foundation
import NIOCore
import OpenXCProtocol
import RelayTesting
import Testing

@Suite("The built relayd and a shared vehicle interface", .serialized)
struct SharedVehicleTests {
    /// - Parameter options: of the section openxc.
    private static func run(
        _ options: String = "", _ body: (Relayd, FramePeer) async throws -> Void
    ) async throws {
        let config = "openxc:\n  listen: 127.0.0.1:0\n  queue: 8 MiB\n" + options
        try await FakeAccessory.run { accessory in
            let address = "openxc+tcp:127.0.0.1:\(accessory.port)"
            try await Relayd.run(accessory: address, config: config) { relayd in
                let vehicle = try await accessory.nextLink()
                try await vehicle.hears(
                    #"{"command":"platform"}"# + "\0" + #"{"command":"version"}"# + "\0")
                try await vehicle.says(
                    #"{"command_response":"platform","message":"FORDBOARD","status":true}"# + "\0"
                        + #"{"command_response":"version","message":"8.2.1 (fake)","status":true}"#
                        + "\0")
                try await relayd.until("it says what it is") {
                    $0.accessory.name == "OpenXC FORDBOARD 8.2.1 (fake)"
                }
                try await body(relayd, vehicle)
            }
        }
    }

    @Test(
        "a trace means the same to clients of all forms at once",
        arguments: ["python-tests-trace.json", "driving-excerpt.json", "generated-all-types.json"])
    func traces(name: String) async throws {
        let file = Checkout.fixtures.appending(path: "openxc").appending(path: name)
        let lines = try Array(Data(contentsOf: file)).split(separator: 0x0A)
        let messages = try lines.map { try VehicleMessage(json: Array($0).span) }
        try await Self.run("  format: lines\n") { relayd, vehicle in
            let clients: [(FramePeer, MessageFraming)] = [
                (try await relayd.connectApp(), .lines),
                (try await relayd.connectApp(), .protobuf), (try await relayd.connectApp(), .lines),
            ]
            let done = #"{"command_response":"payload_format","message":"","status":true}"# + "\n"
            for (client, _) in clients.dropFirst() {
                try await client.says(#"{"command":"payload_format","format":"protobuf"}"# + "\0")
                try await client.hears(done)
            }
            // From protobuf to JSON, which is lines again for a client that began with them.
            try await clients[2].0.says(#"{"command":"payload_format","format":"json"}"# + "\0")
            let answer = VehicleMessage(
                .response(CommandResponse(.payloadFormat, status: true)))
            var words: [UInt8] = []
            try answer.appendProtobuf(to: &words)
            #expect(try await clients[2].0.next(bytes: words.count) == ByteBuffer(bytes: words))
            try await relayd.until("all are there") { $0.apps.count == 3 }
            var stream = ByteBuffer()
            for line in lines {
                stream.writeBytes(line)
                stream.writeInteger(UInt8(0))
            }
            try await vehicle.send(bytes: stream)
            for (client, framing) in clients {
                var expected: [UInt8] = []
                for message in messages {
                    // A trace's first line is not a message.
                    if case .header = message.content { continue }
                    try framing.append(message, to: &expected)
                }
                let heard = try await client.next(bytes: expected.count)
                #expect(Array(heard.readableBytesView) == expected, "\(framing)")
            }
            #expect(try await relayd.status().apps.allSatisfy { $0.lostFrames == 0 })
        }
    }

    @Test("a write needs a permission, and is logged")
    func writes() async throws {
        try await Self.run("  writes: [\"127.0.0.1 can:1:0x7e0\"]\n") { relayd, vehicle in
            let client = try await relayd.connectApp()
            try await client.says(
                #"{"bus":1,"id":2017,"data":"0x01"}"# + "\0" + #"{"bus":1,"id":2016,"data":"0x02"}"#
                    + "\0")
            try await vehicle.hears(#"{"bus":1,"id":2016,"data":"0x02"}"# + "\0")
            try await relayd.process.errors.first(
                containing: #"written to the vehicle: {"bus":1,"id":2016,"data":"0x02"}"#)
            try await relayd.process.errors.first(
                containing: #"a write to the vehicle is refused: {"bus":1,"id":2017,"data":"0x01"}"#
                    + "; openxc.writes does not allow it")
        }
    }

    @Test("only what is subscribed to comes")
    func subscription() async throws {
        let options = "  names: [vehicle_speed]\n  ids: [0x7e8]\n  on_change: true\n"
        try await Self.run(options) { relayd, vehicle in
            let client = try await relayd.connectApp()
            try await relayd.until("it is there") { $0.apps.count == 1 }
            for text in ["engine_speed", "vehicle_speed", "vehicle_speed"] {
                try await vehicle.says(#"{"name":"\#(text)","value":1}"# + "\0")
            }
            try await vehicle.says(
                #"{"bus":1,"id":1,"data":"0x01"}"# + "\0" + #"{"bus":1,"id":2024,"data":"0x01"}"#
                    + "\0")
            try await client.hears(
                #"{"name":"vehicle_speed","value":1}"# + "\0"
                    + #"{"bus":1,"id":2024,"data":"0x01"}"#
                    + "\0")
        }
    }
}
