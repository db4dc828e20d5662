// What developers point at the app port by mistake, and what relayd says to it.

import ControlAPI
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("Mistakes on the app port", .serialized)
struct AppPortTests {
    struct Advice: Sendable {
        let finding: String
        let remedy: String

        init(_ finding: String, _ remedy: String) {
            self.finding = finding
            self.remedy = remedy
        }
    }

    struct Mistake: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: [UInt8]
        /// The advice for it: what relayd has found, and the remedy.
        let advice: Advice

        static let all = [
            Mistake(
                testDescription: "a TLS client",
                bytes: [
                    0x16, 0x03, 0x01, 0x02, 0x00,  // handshake record, TLS 1.0 framing, 512 bytes
                    0x01, 0x00, 0x01, 0xFC, 0x03, 0x03,  // ClientHello, TLS 1.2
                ] + Array(repeating: 0xA5, count: 506),
                advice: Advice("speaks TLS, not SDL", "switch TLS off for this address in the app")
            ),
            Mistake(
                testDescription: "an OpenXC vehicle interface",
                bytes: Array(#"{"name":"vehicle_speed","value":42.5}"#.utf8) + [0],
                advice: Advice(
                    "speaks OpenXC, not SDL", "a vehicle interface belongs at the link")),
            Mistake(
                testDescription: "an SSH client", bytes: Array("SSH-2.0-OpenSSH_9.2\r\n".utf8),
                advice: Advice("speaks SSH, not SDL", "this port is for apps")),
        ]
    }

    @Test(
        "only its own connection is closed, and one warning says what to do", arguments: Mistake.all
    )
    func wrongProtocol(mistake: Mistake) async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(accessory.port)") { relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.connectApp()
                try await headUnit.start(1, for: app)

                let stranger = try await relayd.connectApp()
                try await stranger.send(bytes: ByteBuffer(bytes: mistake.bytes))
                try await stranger.closed()
                try await Self.isToldOnce(mistake.advice, of: relayd)

                try await headUnit.checkBothWays(app, session: 1)
                let status = try await relayd.status()
                #expect(status.apps.map(\.id) == [1])
                let reason = "\(mistake.advice.finding): \(mistake.advice.remedy)"
                #expect(status.recentDepartures.first?.reason.hasPrefix(reason) == true)
            }
        }
    }

    /// One warning, in words alone, and with no other remedy.
    private static func isToldOnce(_ advice: Advice, of relayd: Relayd) async throws {
        let line = try await relayd.process.errors.first(
            containing: "\(advice.finding) → \(advice.remedy)")
        #expect(line.contains("explain wrong_port") && !line.contains("bytes"), "\(line)")
        try await relayd.process.output.first(containing: "\(advice.finding): \(advice.remedy)")
        let warnings = relayd.process.errors.all.filter { $0.contains("warning") }
        #expect(warnings == [line])
    }

    /// What curl writes, its body after the code.
    private static func curl(_ relayd: Relayd, _ arguments: String...) async throws -> String {
        let done = try await ChildProcess.run(
            "curl",
            ["-s", "-w", "%{http_code}", "http://127.0.0.1:\(relayd.port)/status"] + arguments,
            environment: Program.environment())
        #expect(done.ending == .exited(0), "\(done.errors)")
        return done.output
    }

    @Test("an HTTP client gets a 400 in words, with where the dashboard is")
    func http() async throws {
        try await Relayd.run(accessory: "sim:", ["--dashboard", "127.0.0.1:0"]) { relayd in
            try await relayd.until("open") { $0.accessory.state == .open }
            let url = try #require(try await relayd.status().relayd.dashboardURL)
            let words = """
                This port is for apps and speaks SDL (SmartDeviceLink), not HTTP.
                relayd's dashboard is at \(url)
                400
                """
            #expect(try await Self.curl(relayd) == words)
            try await Self.isToldOnce(
                Advice("speaks HTTP, not SDL", "this port is for apps; relayctl dashboard prints"),
                of: relayd)
            #expect(try await Self.curl(relayd, "-X", "POST", "-d", "x=1") == words)
            let head = try await Self.curl(relayd, "--head")
            #expect(head.contains("400 Bad Request") && !head.contains("This port"))
            let token = try #require(
                try await relayd.relayctl("dashboard").output.split(separator: "=").last)
            #expect(!words.contains(token))
        }
    }

    @Test("a WebSocket client gets it as well, and is told what works")
    func webSocket() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            try await relayd.until("open") { $0.accessory.state == .open }
            let heard = try await Self.curl(
                relayd, "-H", "Connection: Upgrade", "-H", "Upgrade: websocket",
                "-H", "Sec-WebSocket-Version: 13", "-H",
                "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==")
            #expect(
                heard == """
                    This port is for apps and speaks SDL (SmartDeviceLink), not HTTP.
                    400
                    """)
            try await Self.isToldOnce(
                Advice("speaks WebSocket, not SDL", "SDL apps connect here by plain TCP"),
                of: relayd)
            try await relayd.process.errors.first(
                containing: "run it under Node with TcpClientConfig")
        }
    }

    @Test("bytes that are no frame in mid-stream are named by their offset")
    func offset() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(accessory.port)") { relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.connectApp()
                try await headUnit.start(1, for: app, hashID: 0xCAFE)
                try await app.send(bytes: ByteBuffer(string: "printf debugging\n"))
                try await app.closed()
                let offset = Frame.startService().wire.readableBytes
                let line = try await relayd.process.errors.first(
                    containing: "not an SDL frame, from byte \(offset) on")
                #expect(line.contains("|printf debugging.|"), "\(line)")
                // None of it has reached the head unit, which hears a proper goodbye.
                try await headUnit.expectFarewell(session: 1, hashID: 0xCAFE)
            }
        }
    }

    @Test("an app that vanishes with a reset in the middle of a frame leaves the link clean")
    func reset() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(accessory.port)") { relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.connectApp()
                try await headUnit.start(1, for: app, hashID: 0xBEEF)
                try await headUnit.checkBothWays(app, session: 1)
                let frame = Frame.data(session: 1, bytes: 100_000).wire
                let half = try #require(frame.getSlice(at: 0, length: 50_000))
                try await app.send(bytes: half)
                try await app.reset()
                try await headUnit.expectFarewell(session: 1, hashID: 0xBEEF)
                let status = try await relayd.until("an app has left") {
                    !$0.recentDepartures.isEmpty
                }
                #expect(
                    status.recentDepartures.map(\.reason)
                        == [
                            "the app vanished: it reset the connection, as one does that is "
                                + "killed or crashes"
                        ])

                let next = try await relayd.connectApp()
                try await headUnit.start(2, for: next)
                try await headUnit.checkBothWays(next, session: 2)
            }
        }
    }

    @Test("a head unit that vanishes with a reset is named, in words and not in those of a library")
    func headUnitResets() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(accessory.port)") { relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.connectApp()
                try await headUnit.start(1, for: app)
                try await headUnit.reset()
                try await app.closed()
                let status = try await relayd.until("an app has left") {
                    !$0.recentDepartures.isEmpty
                }
                #expect(
                    status.recentDepartures.map(\.reason)
                        == ["the head unit is gone (the head unit reset the connection)"])
                _ = try await accessory.nextLink()
            }
        }
    }
}
