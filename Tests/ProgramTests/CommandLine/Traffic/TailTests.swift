// The messages of the built relayd, read by the built relayctl.

import ControlAPI
import Foundation
import Glibc
import RelayTesting
import Testing

@Suite("relayctl tail and show against the built relayd", .serialized)
struct TailTests {
    @Test("tail has a line for each that relayd logs; show prints one of the messages")
    func sameLines() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            let app = try await Program.relayctl.run([
                "sample-app", "--connect", "127.0.0.1:\(relayd.port)",
            ])
            #expect(app.ending == .exited(0))
            try await relayd.process.output.first(containing: "app closed")
            let tail = try await relayd.relayctl("tail", "--once", "-n", "1000")
            #expect(tail.ending == .exited(0) && tail.errors.isEmpty)
            let lines = tail.output.split(separator: "\n").map(String.init)
            let log = relayd.process.output.all
            #expect(lines.count == log.count)
            for (line, logged) in zip(lines, log) {
                // The number comes first, with one space between columns.
                #expect(line.dropFirst(6).prefix(12) == logged.prefix(12), "\(line)")
            }

            let upload = try await relayd.relayctl(
                "tail", "--once", "--rpc", "PutFile", "--type", "request")
            let number = try #require(upload.output.split(separator: " ").first)
            let show = try await relayd.relayctl("show", String(number))
            #expect(show.ending == .exited(0) && show.output.contains("PNG 70×70"))
            let last = try await relayd.relayctl("show", "last")
            #expect(last.ending == .exited(0) && last.output.contains("app_left"))
        }
    }

    @Test("tail ends with its reader, also while nothing happens, and with Ctrl-C")
    func ends() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            try await relayd.until("open") { $0.accessory.state == .open }
            let command = "'\(try Program.relayctl.path())' tail --socket '\(relayd.controlSocket)'"
            let piped = try await ChildProcess.run(
                "/bin/sh", ["-c", "\(command) | head -n 1"], environment: Program.environment())
            #expect(piped.ending == .exited(0) && piped.output.contains("link opened: sim:"))

            let tail = try await Program.relayctl.start(["tail", "--socket", relayd.controlSocket])
            try await tail.output.first(containing: "link opened")
            tail.signal(SIGINT)
            #expect(try await tail.ended() == .killed(by: SIGINT))
        }
    }

    @Test("a relayd that stops lets its readers go at once") func stops() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            let tail = try await Program.relayctl.start(["tail", "--socket", relayd.controlSocket])
            defer { tail.signal(SIGKILL) }
            try await tail.output.first(containing: "link opened")
            relayd.process.signal(SIGTERM)
            #expect(try await relayd.process.ended() == .exited(0))
            try await tail.errors.first(containing: "relayd is gone")
        }
    }
}
