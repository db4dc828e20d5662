// How long the hub lives: its owner lets go while a link is open and an app still speaks.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("The hub lives as long as its link and the last words of its apps")
struct HubLifetimeTests {
    @Test("a link that ends later ends in the hub") func link() throws {
        var bench: EmbeddedHub? = try EmbeddedHub()
        weak let hub = bench?.switchboard
        let link = try #require(bench?.link)
        bench = nil
        try link.close().wait()
        link.embeddedEventLoop.run()
        #expect(hub == nil)
    }

    @Test("an app that was too fast and has gone says the rest at its rate") func lastWords() throws
    {
        var bench: EmbeddedHub? = try EmbeddedHub {
            $0.framesPerSecond = 10
            $0.whenLinkLost = .keep
        }
        weak let hub = bench?.switchboard
        let link = try #require(bench?.link)
        let app = try #require(try bench?.app())
        var bytes = ByteBuffer()
        for message in 1...30 as ClosedRange<UInt32> {
            bytes.writeImmutableBuffer(Frame.rpc(session: 9, message: message).wire)
        }
        try app.writeInbound(bytes)
        try app.close().wait()
        try link.close().wait()
        bench = nil
        #expect(hub?.apps.count == 1)
        link.embeddedEventLoop.advanceTime(by: SDLApp.lastWordsPatience + .seconds(1))
        #expect(hub == nil)
    }
}
