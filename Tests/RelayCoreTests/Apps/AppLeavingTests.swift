import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("How an app left is told from what it had said")
struct AppLeavingTests {
    private let hub: EmbeddedHub

    init() throws { hub = try EmbeddedHub() }

    /// The reason that the status and the log give for the app that left last.
    private var told: String? { hub.switchboard.departures.last.map { "\($0.reason)" } }

    private func hangsUp(_ app: EmbeddedChannel) throws {
        try app.close().wait()
        hub.loop.run()
    }

    @Test("one that never had a session") func unused() throws {
        try hangsUp(hub.app())
        #expect(told == "the app closed the connection; it had no session")
    }

    @Test("one that has ended its session") func ended() throws {
        let app = try hub.app(session: 1)
        try app.says(.control(.endService, session: 1))
        _ = try hub.heard()
        try hub.link.says(.control(.endServiceACK, session: 1))
        try hangsUp(app)
        #expect(told == "the app ended its session and closed the connection")
    }

    @Test("one that has unregistered, and waited for the answer or not", arguments: [true, false])
    func unregistered(isAnswered: Bool) throws {
        let app = try hub.app(session: 1)
        try app.says(
            .rpc(session: 1, message: 2, .request, .unregisterAppInterface, correlation: 9))
        if isAnswered {
            _ = try hub.heard()
            try hub.link.says(
                .rpc(
                    session: 1, message: 2, .response, .unregisterAppInterface, correlation: 9,
                    json: #"{"success":true,"resultCode":"SUCCESS"}"#))
        }
        try hangsUp(app)
        #expect(told == "the app unregistered and closed the connection")
    }

    @Test("one that says nothing, and leaves its session open") func vanished() throws {
        let app = try hub.app(session: 1)
        try app.says(.rpc(session: 1))
        try hangsUp(app)
        #expect(told == "the app vanished: it closed the connection without unregistering")
    }

    @Test("one that dies inside a message") func insideMessage() throws {
        let app = try hub.app(session: 1)
        let frames = Frame.putFile(session: 1, frames: 3)
        for frame in frames.prefix(2) { try app.says(frame) }
        try hangsUp(app)
        let all = frames.dropFirst().reduce(0) { $0 + $1.payload.readableBytes }
        let said = frames[1].payload.readableBytes
        #expect(
            told == "the app vanished in the middle of PutFile, after \(said) of \(all) bytes")
    }

    @Test("one that dies inside a frame") func insideFrame() throws {
        let app = try hub.app(session: 1)
        let half = try #require(Frame.rpc(session: 1).wire.getSlice(at: 0, length: 15))
        try app.writeInbound(half)
        try hangsUp(app)
        #expect(told == "the app vanished in the middle of a frame, after 15 bytes of it")
    }

    @Test("one that was sent away keeps the reason of that") func sentAway() throws {
        _ = try hub.app(session: 1)
        let id = try #require(hub.switchboard.apps.keys.first)
        #expect(hub.switchboard.disconnect(id, because: .byOperator("makes room")))
        hub.loop.run()
        #expect(told == "disconnected through the control API: makes room")
    }
}
