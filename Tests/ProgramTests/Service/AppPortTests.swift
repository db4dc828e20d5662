// What developers point at the app port by mistake, and what relayd says to it.

import ControlAPI
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("Mistakes on the app port", .serialized)
struct AppPortTests {
    struct Mistake: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: [UInt8]
        /// What the log shows of it, and says to it.
        let excerpt: String
        let advice: String

        static let all = [
            Mistake(
                testDescription: "an HTTP client",
                bytes: Array("GET /status HTTP/1.1\r\nHost: bench\r\n\r\n".utf8),
                excerpt: "47 45 54 20 2F", advice: "this is an HTTP client"),
            Mistake(
                testDescription: "a WebSocket client",
                bytes: Array(
                    """
                    GET / HTTP/1.1\r\nHost: bench:2776\r\nUpgrade: websocket\r\n\
                    Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\r\n
                    """.utf8),
                excerpt: "|GET / HTTP/1.1..", advice: "Choose the TCP transport in the app"),
            Mistake(
                testDescription: "a TLS client",
                bytes: [
                    0x16, 0x03, 0x01, 0x02, 0x00,  // handshake record, TLS 1.0 framing, 512 bytes
                    0x01, 0x00, 0x01, 0xFC, 0x03, 0x03,  // ClientHello, TLS 1.2
                ] + Array(repeating: 0xA5, count: 506),
                excerpt: "16 03 01 02 00", advice: "this is a TLS ClientHello"),
        ]
    }

    @Test("only its own connection is closed, and the log says what to do", arguments: Mistake.all)
    func wrongProtocol(mistake: Mistake) async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(accessory.port)") { relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.connectApp()
                try await headUnit.start(1, for: app)

                let stranger = try await relayd.connectApp()
                try await stranger.send(bytes: ByteBuffer(bytes: mistake.bytes))
                try await stranger.closed()
                let line = try await relayd.process.errors.first(containing: mistake.advice)
                #expect(line.contains(mistake.excerpt), "\(line)")
                #expect(line.contains("explain wrong_port"), "\(line)")
                try await relayd.process.output.first(containing: mistake.advice)

                try await headUnit.checkBothWays(app, session: 1)
                let status = try await relayd.status()
                #expect(status.apps.map(\.id) == [1])
                #expect(status.recentDepartures.first?.reason.contains(mistake.advice) == true)
                // Told once.
                let warnings = relayd.process.errors.all.filter { $0.contains("warning") }
                #expect(warnings == [line])
            }
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
                    containing: "no SDL frame, from byte \(offset) on")
                #expect(line.contains("|printf debugging.|"), "\(line)")
                // Nothing of it has reached the head unit, which hears a proper goodbye.
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
                        == ["connection broke: the app reset the connection"])

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
