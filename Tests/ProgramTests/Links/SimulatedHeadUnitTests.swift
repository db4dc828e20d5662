// The built relayd with its simulated head unit, and the built sample app.

import ControlAPI
import Glibc
import RelayTesting
import SDLProtocol
import Testing

@Suite("The built programs and the simulated head unit", .serialized)
struct SimulatedHeadUnitTests {
    @Test("twenty apps register at once, each with a session of its own")
    func twentyApps() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            let apps = try await withThrowingTaskGroup(of: (FramePeer, UInt8).self) { group in
                for number in 1...20 {
                    group.addTask {
                        let app = try await relayd.connectApp()
                        let session = try await app.startSession().sessionID
                        let heard = try await app.register("App \(number)", session: session)
                        #expect(heard.allSatisfy { $0.sessionID == session })
                        return (app, session)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(apps.map(\.1)).count == 20)
            let status = try await relayd.until("20 registered apps") {
                $0.apps.count(where: { $0.state == .registered }) == 20
            }
            #expect(
                Set(status.apps.compactMap(\.appName)) == Set((1...20).map { "App \($0)" }))
            #expect(Set(status.apps.flatMap(\.sessions)) == Set(apps.map { Int($0.1) }))
            #expect(status.link.sessions == 20)
            #expect(status.accessory.garbageBytes == 0)
            // Still connected: the peers are held until here.
            for (app, _) in apps { await app.close() }
            try await relayd.until("all gone") { $0.apps.isEmpty && $0.link.sessions == 0 }
        }
    }

    @Test("the sample app goes through; the log and relayctl status tell of it")
    func sampleApp() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            let app = try await Program.relayctl.start([
                "sample-app", "--connect", "127.0.0.1:\(relayd.port)", "--name", "Sample",
                "--stay",
            ])
            defer { app.signal(9) }
            try await app.output.first(containing: "staying registered")
            try await relayd.process.output.first(containing: "OnVehicleData")
            let status = try await relayd.relayctl("status")
            #expect(status.ending == .exited(0))
            let row = status.output.split(separator: "\n").last { $0.contains("Sample") }
            #expect(row?.contains("FULL") == true, "\(status.output)")
            #expect(status.output.contains("127.0.0.1:\(relayd.port)"))
            app.signal(SIGINT)
            #expect(try await app.ended() == .exited(0))
            for function in [
                "RegisterAppInterface", "Show", "PutFile", "OnVehicleData", "EndService",
            ] {
                try await relayd.process.output.first(containing: function)
            }
        }
    }

    @Test("the sample app asks relayd where apps connect, and goes there")
    func sampleAppAsks() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            let done = try await relayd.relayctl("sample-app")
            #expect(done.ending == .exited(0), "\(done.errors)")
            #expect(
                done.output.hasPrefix("sample-app: using relayd on 127.0.0.1:\(relayd.port)\n"))
            #expect(done.output.hasSuffix("sample-app: done"))
            #expect(!done.output.contains("waiting: relayd"))
        }
    }

    @Test("a sample app that waits for the head unit says so, and why, until it is killed")
    func sampleAppWaits() async throws {
        try await Relayd.run(accessory: "serial:/dev/ttyRelaydTest") { relayd in
            let app = try await Program.relayctl.start([
                "sample-app", "--socket", relayd.controlSocket,
            ])
            defer { app.signal(9) }
            try await app.output.first(
                containing: "sample-app: waiting: relayd has no head unit yet "
                    + "(/dev/ttyRelaydTest does not exist")
            app.signal(9)
            #expect(try await app.ended() == .killed(by: 9))
        }
    }

    @Test("where relayd's port is closed, the sample app says so and what opens it")
    func sampleAppAtClosedPort() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            _ = try await relayd.relayctl("server", "off")
            let done = try await relayd.relayctl("sample-app")
            #expect(done.ending == .exited(1))
            #expect(
                done.errors == """
                    sample-app: relayd runs, but apps cannot connect to it
                    → relayctl status has the reason; relayctl server on opens the port
                    """)
        }
    }

    @Test("a sample app that is killed leaves no session behind")
    func killedProcess() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            let app = try await Program.relayctl.start([
                "sample-app", "--connect", "127.0.0.1:\(relayd.port)", "--stay",
            ])
            defer { app.signal(9) }
            try await relayd.until("registered") { $0.apps.first?.state == .registered }
            app.signal(9)
            #expect(try await app.ended() == .killed(by: 9))
            let status = try await relayd.until("gone") {
                $0.apps.isEmpty && $0.link.sessions == 0
            }
            #expect(status.recentDepartures.count == 1)
            // EndService alone, as after a crash without a relay: what the app needs to resume stays.
            try await relayd.process.output.first(containing: "17 B  by relayd")
            #expect(!relayd.process.output.all.contains { $0.contains("UnregisterAppInterface") })
        }
    }
}
