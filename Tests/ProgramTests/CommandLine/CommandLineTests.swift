// The built programs as people and scripts call them: flags, files, environment, exit codes.

import ControlAPI
import Foundation
import RelayTesting
import Testing

@Suite("The programs' command lines", .serialized)
struct CommandLineTests {
    @Test("--check-config tells everything that is wrong, with line and column, and exits 78")
    func badConfig() async throws {
        try await TemporaryDirectory.run { directory in
            let file = try directory.write(
                """
                accesory: "sim:"
                listen:
                  - 2776
                apps:
                  hold_timeout: 3
                  when_accessory_absent: maybe
                log:
                  level: loud

                """, to: "bad.yaml")
            let check = try await Program.relayd.run(["--check-config", "--config", file])
            #expect(check.ending == .exited(78))
            #expect(check.output.isEmpty)
            let places = check.errors.split(separator: "\n").map { line in
                line.dropFirst(file.count + 1).split(separator: ":", maxSplits: 3).prefix(3)
                    .joined(separator: ":")
            }
            #expect(
                places == [
                    "1:1: accesory", "3:5: listen[0]", "5:17: apps.hold_timeout",
                    "6:26: apps.when_accessory_absent", "8:10: log.level",
                ], "\(check.errors)")
            #expect(check.errors.contains("did you mean \"accessory\"?"))

            // The same words and status when relayd is started with that file.
            let run = try await Program.relayd.run([
                "--config", file, "--control-socket", directory.file("relayd.sock"),
            ])
            #expect(run.ending == .exited(78))
            #expect(run.errors == check.errors)
        }
    }

    @Test("--check-config is content with the file that is shipped")
    func goodConfig() async throws {
        let shipped = Checkout.root.appending(path: "config/relayd.yaml").path
        let check = try await Program.relayd.run(["--check-config", "--config", shipped])
        #expect(check.ending == .exited(0))
        #expect(check.output == "\(shipped): ok")
        #expect(check.errors.isEmpty)
    }

    @Test("--check-config refuses an accessory that no transport takes")
    func badAccessory() async throws {
        let check = try await Program.relayd.run(["--check-config", "--accessory", "usv:1"])
        #expect(check.ending == .exited(78))
        #expect(check.errors.contains("--accessory"))
        #expect(check.errors.contains("usv"))
    }

    @Test("--version, --help and unknown flags", arguments: [Program.relayd, .relayctl])
    func usage(program: Program) async throws {
        let version = try await program.run(["--version"])
        #expect(version.ending == .exited(0))
        #expect(version.output == Version.current)
        let help = try await program.run(["--help"])
        #expect(help.ending == .exited(0))
        #expect(help.output.contains("USAGE: \(program.rawValue)"))
        let unknown = try await program.run(["--frobnicate"])
        #expect(unknown.ending == .exited(64))
        #expect(unknown.errors.contains("--frobnicate"))
    }

    @Test("a port that is taken is named, and the exit status is 1")
    func portInUse() async throws {
        try await FakeAccessory.run { somebody in
            try await TemporaryDirectory.run { directory in
                let run = try await Program.relayd.run([
                    "--config", try directory.write("", to: "relayd.yaml"),
                    "--listen", "127.0.0.1:\(somebody.port)",
                    "--control-socket", directory.file("relayd.sock"),
                ])
                #expect(run.ending == .exited(1))
                #expect(run.errors.contains("cannot listen on 127.0.0.1:\(somebody.port)"))
                #expect(run.errors.contains("another program uses this port"))
                #expect(access(directory.file("relayd.sock"), F_OK) != 0)
            }
        }
    }

    @Test("a second relayd on the same control socket names the first one and leaves it alone")
    func secondRelayd() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            let second = try await Program.relayd.run([
                "--config", relayd.directory.file("relayd.yaml"),
                "--listen", "127.0.0.1:0", "--control-socket", relayd.controlSocket,
            ])
            #expect(second.ending == .exited(1))
            #expect(second.errors.contains("another relayd (pid \(relayd.process.pid))"))
            #expect(try await relayd.status().relayd.pid == Int(relayd.process.pid))
        }
    }

    @Test("a control socket left behind by a relayd that was killed is taken over")
    func staleSocket() async throws {
        try await TemporaryDirectory.run { directory in
            let arguments = [
                "--config", try directory.write("", to: "relayd.yaml"), "--listen", "127.0.0.1:0",
                "--control-socket", directory.file("relayd.sock"),
            ]
            let killed = try await Program.relayd.start(arguments)
            try await killed.errors.first(containing: "apps connect by TCP")
            killed.signal(SIGKILL)
            #expect(try await killed.ended() == .killed(by: SIGKILL))
            #expect(access(directory.file("relayd.sock"), F_OK) == 0)
            let next = try await Program.relayd.start(arguments)
            defer { next.signal(SIGKILL) }
            try await next.errors.first(containing: "apps connect by TCP")
            next.signal(SIGTERM)
            #expect(try await next.ended() == .exited(0))
        }
    }

    @Test("RELAYD_ variables override the file, and flags override both")
    func environment() async throws {
        try await TemporaryDirectory.run { directory in
            let file = try directory.write(
                """
                accessory: tcp:127.0.0.1:1
                listen: ["127.0.0.1:1"]
                log:
                  format: text

                """, to: "relayd.yaml")
            let relayd = try await Program.relayd.start(
                ["--accessory", "sim:"],
                environment: [
                    "RELAYD_CONFIG": file, "RELAYD_ACCESSORY": "tcp:127.0.0.1:2",
                    "RELAYD_LISTEN": "127.0.0.1:0",
                    "RELAYD_CONTROL_SOCKET": directory.file("other.sock"),
                    "RELAYD_LOG_FORMAT": "json", "RELAYD_LOG_LEVEL": "notice",
                ])
            defer { relayd.signal(SIGKILL) }
            let first = try await relayd.errors.first(containing: "apps connect by TCP")
            #expect(try LogLines.comparable(json: first)["level"] as? String == "notice")
            let answer = try await ControlRequest.get(
                Routes.status, at: directory.file("other.sock"))
            let status = try APICoding.decode(StatusSnapshot.self, from: answer.body)
            #expect(status.accessory.address == "sim:")
            #expect(status.server.endpoints.allSatisfy { $0.hasPrefix("127.0.0.1:") })
            relayd.signal(SIGTERM)
            #expect(try await relayd.ended() == .exited(0))
            // At this level the line below it is not written.
            let lines = try await relayd.errors.untilEnd()
            #expect(!lines.contains { $0.contains("relayctl --socket") })
        }
    }
}
