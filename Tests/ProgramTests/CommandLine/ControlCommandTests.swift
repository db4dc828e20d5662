// relayctl's commands against the built relayd: what they do, what they print, how they end.

import ControlAPI
import Foundation
import Glibc
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("relayctl's commands and the built relayd", .serialized)
struct ControlCommandTests {
    /// Commands that need nothing but a relayd, with the member their JSON must have.
    private static let looks: [(arguments: [String], member: String)] = [
        (["status"], "schema"), (["apps"], "apps"), (["stats"], "functions"),
        (["config"], "options"), (["config", "--all"], "options"), (["log-level"], "level"),
        (["advice"], "advice"), (["api"], "routes"), (["api", "--print-socket"], "socket"),
    ]

    @Test("every command that looks prints text, and JSON with --json; without relayd it exits 2")
    func looks() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            try await relayd.until("open") { $0.accessory.state == .open }
            for (arguments, member) in Self.looks {
                let environment = [ControlSocket.environmentVariable: relayd.controlSocket]
                let text = try await Program.relayctl.run(arguments, environment: environment)
                #expect(text.ending == .exited(0) && !text.output.isEmpty, "\(arguments)")
                let json = try await Program.relayctl.run(
                    arguments + ["--json"], environment: environment)
                let object = try JSONSerialization.jsonObject(with: Data(json.output.utf8))
                #expect((object as? [String: Any])?[member] != nil, "\(arguments)")
                let alone = try await Program.relayctl.run(
                    arguments + ["--socket", relayd.directory.file("nobody.sock")])
                #expect(alone.ending == .exited(2), "\(arguments)")
                #expect(alone.errors.contains("relayd is not running"))
            }
        }
    }

    @Test("an app is sent away with a reason, and its session ends on the head unit")
    func disconnect() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(accessory.port)") { relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.connectApp()
                try await app.send(.startService())
                try await headUnit.grant(session: 1)
                _ = try await app.next()

                let nobody = try await relayd.relayctl("disconnect", "Nobody")
                #expect(nobody.ending == .exited(3))
                #expect(nobody.errors.contains("there is no app \"Nobody\"; connected: #1"))

                let done = try await relayd.relayctl("disconnect", "1", "--reason", "makes room")
                #expect(done.ending == .exited(0))
                #expect(done.output.contains("app #1 disconnected"))
                #expect(try await app.next().controlType == .endService)
                try await app.closed()
                let unregister = try await headUnit.next()
                #expect(RPCHeader(unregister.payload)?.functionID == 2)
                try await headUnit.answer(unregister)
                #expect(try await headUnit.next().controlType == .endService)
                let status = try await relayd.until("left") { !$0.recentDepartures.isEmpty }
                #expect(
                    status.recentDepartures[0].reason
                        == "disconnected through the control API: makes room")
                _ = try await relayd.process.errors.wait(for: "the log of who did it") { lines in
                    lines.first {
                        $0.contains("POST /v1/apps/1/disconnect by uid \(getuid()) pid ")
                            && $0.contains(": 200")
                    }
                }
            }
        }
    }

    @Test("the server is switched off and on; the link stays, and status says what to do")
    func server() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(accessory.port)") { relayd in
                _ = try await accessory.nextLink()
                let app = try await relayd.connectApp()
                try await relayd.until("connected") { $0.apps.count == 1 }
                let off = try await relayd.relayctl("server", "off")
                #expect(off.output.contains("the server is off; 1 app disconnected"))
                try await app.closed()
                let status = try await relayd.relayctl("status")
                #expect(status.ending == .exited(1))
                #expect(status.output.contains("relayctl server on switches it on"))
                let snapshot = try await relayd.status()
                #expect(snapshot.server.state == .off && snapshot.accessory.openedCount == 1)
                await #expect(throws: (any Error).self) { try await relayd.connectApp() }

                let doctor = try await relayd.relayctl("doctor")
                #expect(doctor.ending == .exited(1))
                #expect(doctor.output.contains("→ relayctl server on"))

                #expect(try await relayd.relayctl("server", "on").ending == .exited(0))
                await (try await relayd.connectApp()).close()
                #expect(try await relayd.status().accessory.openedCount == 1)
                #expect(try await relayd.relayctl("server", "maybe").ending == .exited(64))
            }
        }
    }

    @Test("the link is closed and opened again, and the events tell") func reopen() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(accessory.port)") { relayd in
                let before = try await accessory.nextLink()
                // A link that is being opened is new: nothing would be reopened.
                try await relayd.until("open") { $0.accessory.state == .open }
                let done = try await relayd.relayctl("reopen", "--reason", "new firmware")
                #expect(done.ending == .exited(0))
                try await before.closed()
                _ = try await accessory.nextLink()
                try await relayd.until("open again") { $0.accessory.openedCount == 2 }
                let answer = try await ControlRequest.get(Routes.events, at: relayd.controlSocket)
                let list = try APICoding.decode(EventList.self, from: answer.body)
                #expect(list.events.contains { $0.text.contains("control API: new firmware") })
            }
        }
    }

    @Test("what is logged changes at once, and a wrong word changes nothing") func logLevel()
        async throws
    {
        try await Relayd.run(accessory: "sim:") { relayd in
            let debug = try await relayd.relayctl("log-level", "debug", "--rpc", "!Show")
            #expect(debug.output.contains("Level      debug"))
            #expect(debug.output.contains("Functions  !Show"))
            let app = try await relayd.connectApp()
            _ = try await relayd.process.errors.wait(for: "a message of level debug") { lines in
                lines.first { $0.contains("app connected") }
            }
            let numbered = try await relayd.relayctl("log-level", "--app", "1")
            #expect(numbered.output.contains("Apps       1\n") && numbered.errors.isEmpty)
            let unknown = try await relayd.relayctl("log-level", "--app", "nosuch")
            #expect(unknown.ending == .exited(0))
            #expect(unknown.errors.contains("no app is called \"nosuch\" so far; #1"))
            await app.close()
            let wrong = try await relayd.relayctl("log-level", "loud")
            #expect(wrong.ending == .exited(3) && wrong.errors.contains("expected one of error"))
            let lifted = try await relayd.relayctl("log-level", "--everything")
            #expect(lifted.output.contains("Level      debug"))
            #expect(lifted.output.contains("Functions  all"))
        }
    }

    @Test("doctor names what is broken first, and exits 2 without relayd") func doctor()
        async throws
    {
        try await Relayd.run(accessory: "sim:") { relayd in
            try await relayd.until("open") { $0.accessory.state == .open }
            let lonely = try await relayd.relayctl("doctor", "--json")
            #expect(lonely.ending == .exited(0), "a bench without an app is in order")
            #expect(!lonely.output.contains("\"broken\" :"))
            let text = try await relayd.relayctl("doctor")
            #expect(text.output.contains("– app"), "\(text.output)")
            #expect(text.output.contains("→ point your app at 127.0.0.1:\(relayd.port), or try:"))
        }
        try await TemporaryDirectory.run { directory in
            let alone = try await Program.relayctl.run([
                "doctor", "--socket", directory.file("x.sock"),
            ])
            #expect(alone.ending == .exited(2) && alone.output.contains("✗ daemon"))
        }
    }

    @Test("doctor tells the mistake in relayd's configuration with its line, running or not")
    func doctorConfiguration() async throws {
        try await TemporaryDirectory.run { directory in
            let file = try directory.write("\n\nlisten:\n  - 2776\n", to: "wrong.yaml")
            let arguments = ["doctor", "--socket", directory.file("x.sock"), "--config"]
            let wrong = try await Program.relayctl.run(arguments + [file])
            #expect(wrong.ending == .exited(2))
            #expect(wrong.output.contains("✗ configuration"))
            #expect(wrong.output.contains("\(file):4:5: listen[0]"), "\(wrong.output)")
            let right = try await Program.relayctl.run(
                arguments + [try directory.write("", to: "right.yaml")])
            #expect(right.output.contains("✓ configuration") && right.output.contains("✗ daemon"))
        }
        try await Relayd.run(accessory: "sim:") { relayd in
            try await relayd.until("open") { $0.accessory.state == .open }
            let before = try await relayd.relayctl("doctor")
            #expect(before.output.contains("✓ configuration"))
            let file = try relayd.directory.write("accesory: sim\n", to: "relayd.yaml")
            let after = try await relayd.relayctl("doctor")
            #expect(after.ending == .exited(0), "it works for now")
            #expect(after.output.contains("! configuration"), "\(after.output)")
            #expect(after.output.contains("\(file):1:1: accesory"))
        }
    }

    @Test("doctor checks the file of a relayd that was started with a relative path, and rpc_spec")
    func doctorRelativePath() async throws {
        try await TemporaryDirectory.run { directory in
            let spec = try directory.write("<interface/>", to: "spec.xml")
            // No option is set in it, so no option says where it is.
            try directory.write("# nothing\n", to: "relative.yaml")
            let process = try await ChildProcess.start(
                "/bin/sh",
                [
                    "-c", "cd \"$1\" && shift && exec \"$@\"", "sh", directory.path,
                    try Program.relayd.path(), "--config", "relative.yaml", "--accessory", "sim:",
                    "--listen", "127.0.0.1:0", "--control-socket", directory.file("relayd.sock"),
                ], environment: Program.environment())
            try await Relayd.run(process, in: directory) { relayd in
                let config = try await relayd.relayctl("config", "--json")
                let file = directory.file("relative.yaml")
                #expect(config.output.contains("\"file\" : \"\(file)\""), "\(config.output)")
                let before = try await relayd.relayctl("doctor")
                #expect(before.output.contains("✓ configuration"), "\(before.output)")
                try directory.write("accesory: sim\n", to: "relative.yaml")
                let after = try await relayd.relayctl("doctor")
                #expect(after.output.contains("! configuration"), "\(after.output)")
                #expect(after.output.contains("\(file):1:1: accesory"))
            }
            try await Relayd.run(accessory: "sim:", config: "rpc_spec: \(spec)\n") { relayd in
                let doctor = try await relayd.relayctl("doctor")
                #expect(doctor.output.contains("! specification"), "\(doctor.output)")
                let config = try await relayd.relayctl("config")
                #expect(config.output.contains("rpc_spec is not used: \(spec):1:"))
            }
        }
    }

    @Test(
        "doctor tells who may, when the socket is closed to the user",
        .enabled(if: OrdinaryUser.isAnother, "only root can become somebody else"))
    func doctorPermission() async throws {
        let config = Relayd.quickGoodbyes + "control:\n  mode: \"0600\"\n"
        try await Relayd.run(accessory: "sim:", config: config) { relayd in
            let program = try await OrdinaryUser.copy(.relayctl, in: relayd.directory)
            let doctor = try await OrdinaryUser.run(
                program, ["doctor", "--socket", relayd.controlSocket])
            #expect(doctor.ending == .exited(2), "\(doctor.errors)")
            #expect(doctor.output.contains("✗ permission"), "\(doctor.output)")
            #expect(doctor.output.contains("mode 600: run relayctl with sudo"))
        }
    }

    @Test("reload without a change says so; the configuration tells its places")
    func configuration() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            let reload = try await relayd.relayctl("reload")
            #expect(reload.ending == .exited(0))
            #expect(reload.output == "nothing has changed")
            let config = try await relayd.relayctl("config")
            #expect(config.output.contains("sessions.farewell_timeout"))
            #expect(config.output.contains("relayd.yaml:2:21"))
            #expect(
                config.output.contains("--accessory") && !config.output.contains("apps.maximum"))
            #expect(try await relayd.relayctl("config", "--all").output.contains("apps.maximum"))
        }
    }

    @Test(
        "who is neither owner, group nor root may look, but not change anything",
        .enabled(if: OrdinaryUser.isAnother, "only root can become somebody else"))
    func readOnly() async throws {
        try await Relayd.run(accessory: "sim:", config: "control:\n  mode: \"0666\"\n") { relayd in
            chmod(relayd.directory.path, 0o755)
            func curl(_ arguments: String...) async throws -> String {
                try await OrdinaryUser.run(
                    "curl", ["-s", "--unix-socket", relayd.controlSocket] + arguments
                ).output
            }
            #expect(try await curl("http://relayd/v1/status").contains("\"schema\""))
            let refused = try await curl("-X", "POST", "http://relayd/v1/link/reopen")
            #expect(refused.contains("forbidden") && refused.contains(" may look"))
            _ = try await relayd.process.errors.wait(for: "the refusal in the log") { lines in
                lines.first { $0.contains("POST /v1/link/reopen refused") }
            }
        }
    }

    @Test("a thousand clients of the control socket, silent, slow or greedy, disturb no app")
    func crowd() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(accessory.port)") { relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.connectApp()
                try await app.send(.startService())
                try await headUnit.grant(session: 1)
                _ = try await app.next()

                var crowd: [Int32] = []
                defer { for client in crowd { close(client) } }
                for number in 0..<1000 {
                    guard let client = Self.connect(relayd.controlSocket) else { continue }
                    crowd.append(client)
                    let words: String? =
                        switch number % 4 {
                        case 0: "GET /v1/sta"
                        case 1:
                            "GET /v1/messages/stream?last=10000 HTTP/1.1\r\nHost: relayd\r\n\r\n"
                        case 2: "X: " + String(repeating: "a", count: 60_000)
                        default: nil
                        }
                    if let words {
                        _ = words.withCString {
                            send(client, $0, strlen($0), Int32(MSG_NOSIGNAL))
                        }
                    }
                }
                // At least those the kernel keeps in its queue.
                #expect(crowd.count >= 64)
                for number in 1...100 {
                    let frame = Frame.rpc(session: 1, message: UInt32(number))
                    try await app.send(frame)
                    #expect(try await headUnit.next() == frame)
                }
                for client in crowd { close(client) }
                crowd = []
                // The kernel's queue is full of those that left until relayd has taken them.
                try await relayd.until(
                    "it answers again", ask: { try? await relayd.status() }, { $0 != nil })
                #expect(try await relayd.status().apps.count == 1)
            }
        }
    }

    /// A connected socket that never blocks; nil when the queue is full.
    private static func connect(_ path: String) -> Int32? {
        let client = socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(client, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0 else {
            close(client)
            return nil
        }
        return client
    }
}
