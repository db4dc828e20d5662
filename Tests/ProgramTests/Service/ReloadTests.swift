// SIGHUP at the built relayd: a good configuration is applied, a bad one refused.

import ControlAPI
import Glibc
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("The built relayd reloads", .serialized)
struct ReloadTests {
    /// A relayd whose whole configuration is in its file.
    private struct Reloadable {
        let relayd: ChildProcess
        let systemd: NotifySocket
        let directory: TemporaryDirectory

        static func run(_ config: String, _ body: (Reloadable) async throws -> Void) async throws {
            try await TemporaryDirectory.run { directory in
                let systemd = try await NotifySocket(path: directory.file("notify"))
                let file = try directory.write(config, to: "relayd.yaml")
                let process = try await Program.relayd.start(
                    ["--config", file, "--control-socket", directory.file("relayd.sock")],
                    environment: ["NOTIFY_SOCKET": directory.file("notify")])
                let reloadable = Reloadable(
                    relayd: process, systemd: systemd, directory: directory)
                do {
                    try await systemd.said.first(containing: "READY=1")
                    try await body(reloadable)
                    process.signal(SIGTERM)
                    #expect(try await process.ended() == .exited(0))
                } catch {
                    process.signal(SIGKILL)
                    _ = try? await process.ended()
                    Issue.record("relayd said:\n\(process.errors.all.joined(separator: "\n"))")
                    throw error
                }
            }
        }

        /// Rewrites the file, sends SIGHUP and waits until relayd tells systemd that the reload is over.
        func reload(_ config: String) async throws {
            _ = try directory.write(config, to: "relayd.yaml")
            let before = systemd.said.all.count { $0 == "READY=1" }
            relayd.signal(SIGHUP)
            _ = try await systemd.said.wait(for: "READY=1 again") { lines in
                lines.count(where: { $0 == "READY=1" }) > before ? true : nil
            }
        }

        /// An app gets a session of a head unit that says its name.
        func learnsName(of headUnit: FramePeer) async throws {
            let endpoint = try #require(try await status().server.endpoints.first)
            let port = try #require(endpoint.split(separator: ":").last.flatMap { Int($0) })
            let app = try await FramePeer.connect(port: port)
            try await app.send(.startService())
            _ = try await headUnit.next()
            let grant = Frame.startServiceACK(
                session: 1, extra: [(ControlKey.make, .string("Old Works"))])
            try await headUnit.send(grant)
            #expect(try await app.next() == grant)
        }

        func relayctl(_ command: String) async throws -> ChildProcess.Finished {
            try await Program.relayctl.run(
                [command, "--socket", directory.file("relayd.sock")], environment: [:])
        }

        func status() async throws -> StatusSnapshot {
            let answer = try await ControlRequest.get(
                Routes.status, at: directory.file("relayd.sock"))
            return try APICoding.decode(StatusSnapshot.self, from: answer.body)
        }
    }

    @Test("a bad configuration is refused: the old one stays, and log and status line say why")
    func bad() async throws {
        try await Reloadable.run("listen: [127.0.0.1:0]\n") { it in
            let before = try await it.status().server.endpoints
            try await it.reload("listen: [127.0.0.1:0]\naps: {}\n")
            let reason = try await it.relayd.errors.first(containing: "configuration refused")
            #expect(reason.contains("relayd.yaml:2:1"))
            #expect(reason.contains("aps"))
            let line = try await it.systemd.said.first(
                containing: "STATUS=configuration refused, the old one stays: ")
            #expect(line.contains("relayd.yaml:2:1"))
            #expect(line.contains("listening on"))
            #expect(try await it.status().server.endpoints == before)
            let said = it.systemd.said.all
            let reloading = try #require(said.firstIndex(of: "RELOADING=1"))
            #expect(said[reloading + 1].hasPrefix("MONOTONIC_USEC="))
            // A good one clears the complaint.
            try await it.reload("listen: [127.0.0.1:0]\n")
            let last = it.systemd.said.all.last { $0.hasPrefix("STATUS=") }
            #expect(last?.hasPrefix("STATUS=configuration refused") == false)
        }
    }

    @Test("addresses: the new one is open, apps that are connected stay, a taken one is refused")
    func listen() async throws {
        try await UnusedPort.run { first in
            try await UnusedPort.run { second in
                try await Reloadable.run("listen: [127.0.0.1:\(first)]\n") { it in
                    let app = try await FramePeer.connect(port: first)
                    try await app.send(.startService())
                    #expect(try await app.next().controlType == .startServiceACK)
                    try await it.reload("listen: [127.0.0.1:\(second)]\n")
                    #expect(
                        try await it.status().server.endpoints == ["127.0.0.1:\(second)"])
                    _ = try await FramePeer.connect(port: second)
                    #expect(try await it.status().apps.contains { $0.id == 1 })
                    await #expect(throws: (any Error).self) {
                        try await FramePeer.connect(port: first)
                    }
                    // The same port on all addresses: the old one has to go first.
                    try await it.reload("listen: [0.0.0.0:\(second)]\n")
                    _ = try await FramePeer.connect(port: second)
                    // 192.0.2.1 is not an address of this machine.
                    try await it.reload("listen: [192.0.2.1:\(second)]\n")
                    try await it.relayd.errors.first(
                        containing: "refused, the old one stays: cannot listen on 192.0.2.1")
                    _ = try await FramePeer.connect(port: second)
                }
            }
        }
    }

    @Test("another accessory: the link to the old one is closed, the new one opened")
    func accessory() async throws {
        try await FakeAccessory.run { old in
            try await FakeAccessory.run { new in
                let config = { (port: Int) in
                    "listen: [127.0.0.1:0]\naccessory: tcp:127.0.0.1:\(port)\n"
                }
                try await Reloadable.run(config(old.port)) { it in
                    let before = try await old.nextLink()
                    try await it.learnsName(of: before)
                    #expect(try await it.status().accessory.name == "Old Works")
                    try await it.reload(config(new.port))
                    try await before.closed()
                    _ = try await new.nextLink()
                    #expect(
                        try await it.status().accessory.address == "tcp:127.0.0.1:\(new.port)")
                    // The name was that of the old head unit.
                    #expect(try await it.status().accessory.name == nil)
                    // A request now goes to the new link.
                    #expect(try await it.relayctl("reopen").ending == .exited(0))
                    _ = try await new.nextLink()
                }
            }
        }
    }

    @Test("relayctl reload answers what has changed, or what is wrong; config tells the new value")
    func relayctl() async throws {
        try await Reloadable.run("listen: [127.0.0.1:0]\n") { it in
            let file = "listen: [127.0.0.1:0]\napps: {maximum: 7}\nlimits: {ring: 1 MiB}\n"
            _ = try it.directory.write(file, to: "relayd.yaml")
            let good = try await it.relayctl("reload")
            #expect(good.ending == .exited(0))
            #expect(good.output.contains("changed: apps.maximum"))
            #expect(good.output.contains("after a restart: limits.ring"))
            let config = try await it.relayctl("config")
            #expect(config.output.contains("relayd.yaml:2:17"))
            #expect(!config.output.contains("limits.ring"))
            _ = try it.directory.write("aps: {}\n", to: "relayd.yaml")
            let bad = try await it.relayctl("reload")
            #expect(bad.ending == .exited(3))
            #expect(bad.errors.contains("relayd.yaml:1:1"))
        }
    }

    @Test("the level changes; what needs a restart is said to")
    func level() async throws {
        try await Reloadable.run("listen: [127.0.0.1:0]\n") { it in
            try await it.reload(
                "listen: [127.0.0.1:0]\nlog: {level: debug}\nlimits: {ring: 1 MiB}\n")
            let line = try await it.relayd.errors.first(containing: "configuration reloaded")
            #expect(line.contains("changed log.level; limits.ring needs a restart"))
            try await it.reload("listen: [127.0.0.1:0]\nlog: {level: error}\n")
            try await it.reload("listen: [127.0.0.1:0]\nlog: {level: warning}\n")
            #expect(
                it.relayd.errors.all.count { $0.contains("configuration reloaded") } == 1)
        }
    }
}
