import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Synchronization
import Testing

@testable import RelayCore

@Suite("What ended that nobody had ended")
struct RelayLossTests {
    private final class Losses: Sendable {
        private let heard = Mutex<[RelayLoss]>([])

        func add(_ loss: RelayLoss) { heard.withLock { $0.append(loss) } }
        var all: [RelayLoss] { heard.withLock { $0 } }
    }

    private static func hub() throws -> (EmbeddedHub, Losses) {
        let hub = try EmbeddedHub()
        let losses = Losses()
        hub.switchboard.reporter.onLoss = { losses.add($0) }
        return (hub, losses)
    }

    @Test("an app that leaves without a word is a loss, one that never had a session is none")
    func apps() throws {
        let (hub, losses) = try Self.hub()
        try hub.app().close().wait()
        #expect(losses.all == [])
        try hub.app(session: 1).close().wait()
        #expect(
            losses.all == [
                .app(
                    AppID(rawValue: 2),
                    reason: "the app vanished: it closed the connection without unregistering")
            ])
    }

    @Test("a link that the head unit closes is a loss; its apps, which relayd closes, are none")
    func link() throws {
        let (hub, losses) = try Self.hub()
        _ = try hub.app(session: 1)
        hub.link.pipeline.fireChannelInactive()
        #expect(losses.all == [.link(reason: "closed by the head unit")])
    }

    @Test("a link that relayd closes, or somebody by relayd, is none")
    func reopened() throws {
        let (hub, losses) = try Self.hub()
        hub.switchboard.reopenLink(reason: "reopened")
        hub.switchboard.loop.assumeIsolated().execute {}
        #expect(losses.all == [])
    }
}
