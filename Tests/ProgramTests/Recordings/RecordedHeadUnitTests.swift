// The built programs: a session is recorded, its head unit replayed and recorded again.

import ControlAPI
import Foundation
import NIOCore
import NIOPosix
import RelayTesting
import Testing

@Suite("The built programs replay recordings", .serialized)
struct ProgramReplayTests {
    /// Runs the sample app against a relayd that records.
    private static func record(_ accessory: String, to path: String) async throws {
        try await Relayd.run(
            accessory: accessory, config: Relayd.quickGoodbyes + "record:\n  always: true\n"
        ) { relayd in
            try await relayd.until("open") { $0.accessory.state == .open }
            let app = try await relayd.relayctl(
                "sample-app", "--connect", "127.0.0.1:\(relayd.port)")
            try #require(app.ending == .exited(0), "\(app.errors)")
            try await relayd.until("no app") { $0.apps.isEmpty }
            let report = try await relayd.relayctl("record", "status", "--json")
            let text = report.output.replacing("\\/", with: "/")
            let file = try #require(text.firstMatch(of: #/(/\S+\.pcapng)/#)?.1)
            relayd.process.signal(15)
            _ = try await relayd.process.ended()
            try FileManager.default.copyItem(atPath: String(file), toPath: path)
            let told = relayd.process.errors.all.filter { $0.contains("is not the recording") }
            #expect(told.isEmpty)
        }
    }

    @Test("record, replay, record again: the same conversation", arguments: ["1", "max"])
    func roundTrip(speed: String) async throws {
        try await TemporaryDirectory.run { directory in
            let (first, second) = (directory.file("1.pcapng"), directory.file("2.pcapng"))
            try await Self.record("sim:", to: first)
            try await Self.record("replay:\(first)?speed=\(speed)", to: second)
            let diff = try await Program.relayctl.run(["trace", "diff", first, second])
            #expect(diff.ending == .exited(0), "\(diff.output)\(diff.errors)")
        }
    }

    @Test(
        "a recorded app gets the recorded answers from the same head unit, and others from another")
    func app() async throws {
        try await TemporaryDirectory.run { directory in
            let path = directory.file("1.pcapng")
            try await Self.record("sim:", to: path)
            try await Relayd.run(accessory: "sim:") { relayd in
                try await relayd.until("open") { $0.accessory.state == .open }
                let same = try await relayd.relayctl(
                    "replay", path, "--to", "relayd", "--speed", "max", "--check")
                #expect(same.ending == .exited(0), "\(same.output)\(same.errors)")
                #expect(same.output.contains("the answers are the recorded ones"))
            }
            try await Relayd.run(accessory: "sim:?model=Other") { relayd in
                try await relayd.until("open") { $0.accessory.state == .open }
                let other = try await relayd.relayctl(
                    "replay", path, "--to", "127.0.0.1:\(relayd.port)", "--speed", "max",
                    "--check")
                #expect(other.ending == .exited(1), "\(other.output)\(other.errors)")
                #expect(
                    other.output.contains(
                        "  - vehicleType.model: Simulated head unit\n  + vehicleType.model: Other\n"
                    ))
            }
            let none = try await Program.relayctl.run(
                ["replay", path, "--to", "relayd", "--socket", directory.file("none")])
            #expect(none.ending == .exited(2), "\(none.errors)")
            let unknown = try await Program.relayctl.run(
                ["replay", path, "--to", "relayd", "--app", "Nobody"])
            #expect(unknown.ending == .exited(3))
            #expect(unknown.errors.contains("has no app \"Nobody\"; it has relayd sample"))
        }
    }

    @Test("whoever was never answered has compared nothing, which is not a different answer")
    func neverAnswered() async throws {
        try await TemporaryDirectory.run { directory in
            let path = directory.file("1.pcapng")
            try await Self.record("sim:", to: path)
            func check(_ place: String) async throws -> ChildProcess.Finished {
                try await Program.relayctl.run(
                    ["replay", path, "--to", place, "--speed", "max", "--check"])
            }
            try await UnusedPort.run { port in
                let refused = try await check("127.0.0.1:\(port)")
                #expect(refused.ending == .exited(2))
                #expect(refused.errors.contains("cannot connect to 127.0.0.1:\(port)"))
            }
            let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .childChannelInitializer { $0.close() }
                .bind(host: "127.0.0.1", port: 0).get()
            let lost = try await check("127.0.0.1:\(server.localAddress?.port ?? 0)")
            #expect(lost.ending == .exited(2), "\(lost.errors)")
            #expect(lost.output.hasSuffix("\nnothing was compared"), "\(lost.output)")
            try await server.close()
        }
    }

    @Test(
        "a file that cannot be replayed is a reason with a remedy",
        arguments: [
            ("absent", "there is no file"), ("empty", "empty, 0 bytes; expected a trace"),
            ("empty", "no OpenXC trace either, whose lines are JSON objects"),
            ("text", "not a pcapng file"), ("text", "no OpenXC trace either"),
            ("large", "damaged at byte 0"),
        ])
    func hostile(name: String, reason: String) async throws {
        try await TemporaryDirectory.run { directory in
            let path = directory.file(name)
            switch name {
            case "empty": try Data().write(to: URL(filePath: path))
            case "text": try Data("GET / HTTP/1.1\r\n".utf8).write(to: URL(filePath: path))
            case "large":
                // A block of 4 GiB.
                let bytes: [UInt8] = [
                    0x0A, 0x0D, 0x0D, 0x0A, 0xFC, 0xFF, 0xFF, 0xFF, 0x4D, 0x3C, 0x2B, 0x1A,
                ]
                try Data(bytes).write(to: URL(filePath: path))
            default: break
            }
            try await Relayd.run(accessory: "replay:\(path)") { relayd in
                let status = try await relayd.until("waiting") {
                    $0.accessory.reason?.message.contains(reason) == true
                }
                #expect(status.accessory.reason?.remedy != nil)
            }
        }
    }
}
