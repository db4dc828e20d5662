// How the built relayd ends: politely to both sides, and in words to systemd.

import ControlAPI
import Glibc
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("The built relayd stops", .serialized)
struct ShutdownTests {
    /// A relayd with one app, which has session 3 of the head unit.
    ///
    /// - Parameters:
    ///   - farewellTimeout: of the configuration; the usual one of these tests if nil.
    ///   - ending: how relayd is expected to end.
    private static func run(
        farewellTimeout: String? = nil, endsBy ending: ChildProcess.Ending = .exited(0),
        _ body: (_ relayd: Relayd, _ headUnit: FramePeer, _ app: FramePeer) async throws -> Void
    ) async throws {
        let config = farewellTimeout.map { "sessions:\n  farewell_timeout: \($0)\n" }
        try await FakeAccessory.run { accessory in
            try await Relayd.run(
                accessory: "tcp:127.0.0.1:\(accessory.port)",
                config: config ?? Relayd.quickGoodbyes, endsBy: ending
            ) { relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.connectApp()
                try await headUnit.start(3, for: app, hashID: 0xFEED)
                try await body(relayd, headUnit, app)
            }
        }
    }

    @Test("SIGTERM and SIGINT: sessions end politely on both sides", arguments: [SIGTERM, SIGINT])
    func sessionsEnd(signal: Int32) async throws {
        try await Self.run(farewellTimeout: "10s") { relayd, headUnit, app in
            try await headUnit.register(app, session: 3, name: "Last")

            relayd.process.signal(signal)
            try await headUnit.expectFarewell(session: 3, hashID: 0xFEED, unregisters: true)
            let goodbye = try await app.next()
            #expect(goodbye.controlType == .endService)
            #expect(goodbye.sessionID == 3)
            try await app.closed()
            // relayd waits for this, up to farewell_timeout.
            try await headUnit.send(.control(.endServiceACK, session: 3))
            try await headUnit.closed()
            #expect(try await relayd.process.ended() == .exited(0))
            let lines = try await relayd.process.output.untilEnd()
            #expect(lines.contains { $0.contains("app closed: relayd stops") }, "\(lines)")
        }
    }

    @Test("a head unit that does not confirm keeps relayd no longer than farewell_timeout")
    func headUnitSilent() async throws {
        try await Self.run { relayd, headUnit, _ in
            relayd.process.signal(SIGTERM)
            try await headUnit.expectFarewell(session: 3, hashID: 0xFEED, unregisters: true)
            try await headUnit.closed()
            #expect(try await relayd.process.ended() == .exited(0))
        }
    }

    @Test("a second signal ends it at once, as a signal does", arguments: [SIGTERM, SIGINT])
    func secondSignal(signal: Int32) async throws {
        try await Self.run(farewellTimeout: "60s", endsBy: .killed(by: signal)) {
            relayd, headUnit, _ in
            relayd.process.signal(SIGTERM)
            // The head unit does not confirm, which relayd would wait for.
            try await headUnit.expectFarewell(session: 3, hashID: 0xFEED, unregisters: true)
            // A signal within half a second counts as part of the first, and nothing shows when that time
            // is over; so signals are sent until one has its effect.
            while relayd.process.isRunning {
                relayd.process.signal(signal)
                try await Task.sleep(for: .milliseconds(20))
            }
            #expect(try await relayd.process.ended() == .killed(by: signal))
            try await relayd.process.errors.first(containing: "relayd stops at once")
            #expect(access(relayd.controlSocket, F_OK) != 0)
        }
    }

    @Test("without a head unit relayd stops just as well", arguments: [SIGTERM, SIGINT])
    func withoutHeadUnit(signal: Int32) async throws {
        try await UnusedPort.run { port in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(port)") { relayd in
                let app = try await relayd.connectApp()
                try await app.send(.startService())
                try await relayd.until("the app is held") {
                    $0.apps.first?.state == .waitingForHeadUnit
                }
                relayd.process.signal(signal)
                try await app.closed()
                #expect(try await relayd.process.ended() == .exited(0))
                // The socket's name is free for the next relayd.
                #expect(access(relayd.controlSocket, F_OK) != 0)
            }
        }
    }

    @Test("systemd hears READY, STATUS and STOPPING, in this order")
    func notifications() async throws {
        try await TemporaryDirectory.run { directory in
            let systemd = try await NotifySocket(path: directory.file("notify"))
            try await FakeAccessory.run { accessory in
                try await Relayd.run(
                    accessory: "tcp:127.0.0.1:\(accessory.port)",
                    environment: ["NOTIFY_SOCKET": directory.file("notify")]
                ) { relayd in
                    #expect(try await systemd.said.atLeast(1).first == "READY=1")
                    let headUnit = try await accessory.nextLink()
                    try await systemd.said.first(containing: "STATUS=head unit open")
                    let app = try await relayd.connectApp()
                    try await headUnit.start(1, for: app)
                    try await headUnit.register(app, session: 1, name: "Known")
                    try await systemd.said.first(containing: "1 app registered")
                    relayd.process.signal(SIGTERM)
                    #expect(try await relayd.process.ended() == .exited(0))
                    try await systemd.said.first(containing: "STOPPING=1")
                }
            }
            let said = systemd.said.all
            #expect(said.first == "READY=1")
            #expect(said.count(where: { $0 == "READY=1" }) == 1)
            #expect(said.count(where: { $0 == "STOPPING=1" }) == 1)
            #expect(said.allSatisfy { $0.contains("=") })
            let stopping = try #require(said.firstIndex(of: "STOPPING=1"))
            #expect(said[stopping...].contains("STATUS=ending sessions"))
            #expect(
                said[..<stopping].dropFirst().allSatisfy { $0.hasPrefix("STATUS=") }, "\(said)")
        }
    }

    @Test("the watchdog is fed while relayd works")
    func watchdog() async throws {
        try await TemporaryDirectory.run { directory in
            let systemd = try await NotifySocket(path: directory.file("notify"))
            try await Relayd.run(
                accessory: "sim:",
                environment: [
                    "NOTIFY_SOCKET": directory.file("notify"), "WATCHDOG_USEC": "200000",
                ]
            ) { _ in
                _ = try await systemd.said.wait(for: "three signs of life") { lines in
                    lines.count(where: { $0 == "WATCHDOG=1" }) >= 3 ? true : nil
                }
            }
        }
    }
}
