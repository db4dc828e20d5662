// The built relayd between clients and vehicle interfaces that misbehave.

import ControlAPI
import Foundation
import NIOCore
import OpenXCProtocol
import RelayTesting
import Testing

@Suite("The built relayd, hostile clients and hostile vehicle interfaces", .serialized)
struct HostileVehicleProgramTests {
    private typealias Stand = VehicleStand

    // MARK: - Clients

    @Test("a client that floods commands takes nothing from another, who is answered")
    func flood() async throws {
        try await Stand.run { relayd, vehicle, _ in
            let (flooder, other) = (
                try await relayd.connectClient(), try await relayd.connectClient()
            )
            let commands = 500
            try await flooder.says(
                String(repeating: #"{"command":"device_id"}"# + "\0", count: commands))
            // As many as a client may have open, and no more. They stay unanswered.
            try await vehicle.hears(
                String(repeating: #"{"command":"device_id"}"# + "\0", count: 32))
            try await relayd.until("the others are counted") {
                $0.apps.first?.refusedFrames == commands - 32
            }
            try await other.says(Stand.askVersion)
            try await vehicle.hears(Stand.askVersion)
            try await vehicle.says(Stand.version)
            try await other.hears(Stand.version)
        }
    }

    @Test("a client that floods rubbish reaches nobody, and goes on when it is done")
    func rubbish() async throws {
        try await Stand.run { relayd, vehicle, _ in
            let (client, other) = (
                try await relayd.connectClient(), try await relayd.connectClient()
            )
            var generator = SeededGenerator(seed: 17)
            for _ in 0..<64 {
                let bytes = (0..<4096).map { _ in UInt8.random(in: 0...255, using: &generator) }
                try await client.send(bytes: ByteBuffer(bytes: bytes))
            }
            try await client.says(String(repeating: #"{"a":"#, count: 20_000) + "\0")
            try await client.says(Stand.askVersion)
            try await vehicle.hears(Stand.askVersion)
            try await vehicle.says(Stand.version + Stand.speed(1))
            try await client.hears(Stand.version + Stand.speed(1))
            try await other.hears(Stand.speed(1))
        }
    }

    @Test("a client that stalls misses whole messages, and nobody else does")
    func stall() async throws {
        try await Stand.run("  queue: 8 KiB\n") { relayd, vehicle, _ in
            let reader = try await relayd.connectClient()
            let sleeper = try await relayd.connectClient(readsByItself: false)
            // So that the kernel is full before the minute is over, also on a busy machine.
            try await sleeper.channel.setOption(.socketOption(.so_rcvbuf), value: 4096).get()
            // Until something is lost, and no longer: a client that reads nothing for a minute is disconnected.
            let speeds = (0..<2000).map { Stand.speed($0) }.joined()
            var sent = 0
            var status = try await relayd.status()
            while status.apps.allSatisfy({ $0.lostFrames == 0 }) {
                try #require(status.apps.count == 2, "\(status)")
                try await vehicle.says(speeds)
                try await reader.hears(speeds)
                sent += 2000
                status = try await relayd.status()
            }
            let lost = status.apps.reduce(0) { $0 + ($1.lostFrames ?? 0) }
            #expect(status.apps.first?.lostFrames == 0)
            try await sleeper.channel.setOption(.autoRead, value: true).get()
            // Whole messages only.
            var (number, taken) = (0, 0)
            var heard = ""
            while number < sent - lost {
                // Everything there is at once: there may be megabytes.
                let count = max(1, try await sleeper.receivedBytes() - taken)
                taken += count
                heard += String(buffer: try await sleeper.next(bytes: count))
                var messages = heard.split(separator: "\0", omittingEmptySubsequences: false)
                heard = String(messages.removeLast())
                #expect(
                    messages.allSatisfy { $0.hasPrefix(#"{"name":"vehicle_speed","value":"#) })
                number += messages.count
            }
            #expect(number == sent - lost && heard.isEmpty)
        }
    }

    @Test("what a client that is killed owned is taken back, unless another wants it")
    func dies() async throws {
        try await Stand.run { relayd, vehicle, _ in
            let (first, second) = (
                try await relayd.connectClient(), try await relayd.connectClient()
            )
            try await first.says(Stand.diagnostic("add"))
            try await vehicle.hears(Stand.diagnostic("add"))
            try await vehicle.says(Stand.taken)
            try await first.hears(Stand.taken)
            try await second.says(Stand.diagnostic("add"))
            try await second.hears(Stand.taken)
            try await first.reset()
            try await relayd.until("it is gone") { $0.apps.count == 1 }
            try await second.says(Stand.askVersion)
            // No cancellation before it.
            try await vehicle.hears(Stand.askVersion)
            try await second.reset()
            try await vehicle.hears(Stand.diagnostic("cancel"))
        }
    }

    @Test("a command in disguise does not switch the vehicle interface over for all")
    func disguise() async throws {
        try await Stand.run { relayd, vehicle, _ in
            let client = try await relayd.connectClient()
            try await client.says(#"{"command":"payload_format_","format":"protobuf"}"# + "\0")
            try await client.says(
                #"{"Command":"payload_format","format":"protobuf","command":"x"}"# + "\0")
            try await client.says(Stand.askVersion)
            try await vehicle.hears(Stand.askVersion)
            try await relayd.process.errors.first(
                containing: #"firmware may take "payload_format_" for another command"#)
        }
    }

    // MARK: - Vehicle interfaces

    @Test(
        "clients stay when it is unplugged in the middle of a message, and hear it when it is back")
    func unplugged() async throws {
        try await Stand.run { relayd, vehicle, accessory in
            let (client, other) = (
                try await relayd.connectClient(), try await relayd.connectClient()
            )
            try await client.says(Stand.diagnostic("add"))
            try await vehicle.hears(Stand.diagnostic("add"))
            try await vehicle.says(Stand.taken + Stand.speed(1) + #"{"name":"vehicle_sp"#)
            try await client.hears(Stand.taken + Stand.speed(1))
            try await vehicle.reset()
            let again = try await accessory.nextLink()
            try await again.hears(Stand.diagnostic("add") + Stand.questions)
            try await again.says(Stand.speed(2))
            try await client.hears(Stand.speed(2))
            try await other.hears(Stand.speed(1) + Stand.speed(2))
        }
    }

    @Test("half a message costs itself alone, and the rest of one that comes late is waited for")
    func halves() async throws {
        try await Stand.run { relayd, vehicle, _ in
            let client = try await relayd.connectClient()
            // Cut off by a full buffer, its NUL as well.
            try await vehicle.says(#"{"name":"engine_speed","val"# + Stand.speed(1))
            try await client.hears(Stand.speed(1))
            for byte in Stand.speed(2) { try await vehicle.says(String(byte)) }
            try await client.hears(Stand.speed(2))
            try await relayd.until("it is counted") { $0.accessory.garbageBytes > 0 }
        }
    }

    @Test("one that switches its form is followed, and clients do not notice")
    func switches() async throws {
        try await Stand.run { relayd, vehicle, _ in
            let client = try await relayd.connectClient()
            for (format, number) in [(MessageFraming.protobuf, 1), (.json, 2), (.protobuf, 3)] {
                // A response always comes in the current format; relayd uses it from then on.
                var bytes: [UInt8] = []
                try format.append(
                    VehicleMessage(
                        .response(CommandResponse(.predefinedOBD2, message: "", status: true))),
                    to: &bytes)
                try format.append(
                    VehicleMessage(
                        .measurement(
                            OpenXCProtocol.Measurement("vehicle_speed", .number(Double(number))))),
                    to: &bytes)
                try await vehicle.send(bytes: ByteBuffer(bytes: bytes))
                try await client.hears(
                    #"{"command_response":"predefined_obd2","message":"","status":true}"# + "\0"
                        + Stand.speed(number))
                try await client.says(Stand.askVersion)
                var question: [UInt8] = []
                try format.append(VehicleMessage(.command(.version)), to: &question)
                let asked = try await vehicle.next(bytes: question.count)
                #expect(Array(asked.readableBytesView) == question)
                try await vehicle.says(Stand.version)
                try await client.hears(Stand.version)
            }
        }
    }

    @Test("one that floods is read to the end, also with no client, and stays answerable")
    func vehicleFloods() async throws {
        try await Stand.run { relayd, vehicle, _ in
            let piece = (0..<1000).map { Stand.speed($0) }.joined()
            for _ in 0..<100 { try await vehicle.says(piece) }
            try await relayd.until("all has been read") { $0.accessory.framesIn >= 100_002 }
            let client = try await relayd.connectClient()
            try await client.says(Stand.askVersion)
            try await vehicle.hears(Stand.askVersion)
        }
    }

    @Test("one that takes nothing makes clients wait, and relayd stops all the same")
    func vehicleStalls() async throws {
        try await Stand.run("  writes: [\"127.0.0.1 can\"]\n") { relayd, vehicle, _ in
            try await vehicle.channel.setOption(.autoRead, value: false).get()
            let (writer, reader) = (
                try await relayd.connectClient(), try await relayd.connectClient()
            )
            let writes = String(
                repeating: #"{"bus":1,"id":2016,"data":"0x0102030405060708"}"# + "\0", count: 1000)
            let flood = Task {
                while !Task.isCancelled { try await writer.says(writes) }
            }
            try await relayd.until("the writer is not read any more") { $0.link.paused }
            try await vehicle.says(Stand.speed(1))
            try await reader.hears(Stand.speed(1))
            flood.cancel()
            await writer.close()
            _ = try? await flood.value
        }
    }

    @Test("rubbish from it reaches nobody")
    func vehicleRubbish() async throws {
        try await Stand.run { relayd, vehicle, _ in
            let client = try await relayd.connectClient()
            var generator = SeededGenerator(seed: 23)
            for _ in 0..<64 {
                // Nothing that could begin a message.
                let bytes = (0..<4096).map { _ in UInt8.random(in: 0xF0...0xFF, using: &generator) }
                try await vehicle.send(bytes: ByteBuffer(bytes: bytes))
            }
            try await vehicle.says(#"{"unknown":1}"# + "\0" + #"{"command":"version"}"# + "\0\0\0")
            try await vehicle.says(Stand.speed(1))
            try await client.hears(Stand.speed(1))
        }
    }
}
