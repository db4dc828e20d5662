import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing
import relayd

// How long a client of the control API may stay connected without a request.

@Suite("A client of the control API that does not ask")
struct IdleClientTests {
    private static let limit = TimeAmount.seconds(10)
    private static let nearly = TimeAmount.seconds(9)

    private let loop = EmbeddedEventLoop()
    private let channel: EmbeddedChannel

    init() throws {
        channel = EmbeddedChannel(handler: IdleClientHandler(Self.limit), loop: loop)
        try channel.connect(to: SocketAddress(unixDomainSocketPath: "/c.sock")).wait()
    }

    private func client(_ parts: HTTPServerRequestPart...) throws {
        for part in parts { try channel.writeInbound(part) }
    }

    private func relayd(_ parts: HTTPServerResponsePart...) throws {
        for part in parts { try channel.writeOutbound(part) }
    }

    private let head = HTTPRequestHead(version: .http1_1, method: .PUT, uri: "/v1/log")
    private let answer = HTTPResponseHead(version: .http1_1, status: .ok)
    private let piece = ByteBuffer(string: "{")

    @Test("who says nothing is closed when its time is over, and not before")
    func silence() throws {
        loop.advanceTime(by: Self.nearly)
        #expect(channel.isActive)
        loop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test("a request that stops in the middle has its time from its last piece on")
    func half() throws {
        loop.advanceTime(by: Self.nearly)
        try client(.head(head))
        loop.advanceTime(by: Self.nearly)
        try client(.body(piece))
        loop.advanceTime(by: Self.nearly)
        #expect(channel.isActive)
        loop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test(
        "an answer may take as long as it likes, and the time of the next request begins behind it")
    func answering() throws {
        try client(.head(head), .end(nil))
        loop.advanceTime(by: .hours(1))
        try relayd(.head(answer), .body(.byteBuffer(piece)))
        loop.advanceTime(by: .hours(1))
        try relayd(.end(nil))
        loop.advanceTime(by: Self.nearly)
        #expect(channel.isActive)
        loop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test("who has asked twice is waited for until both are answered")
    func twice() throws {
        try client(.head(head), .end(nil), .head(head), .end(nil))
        try relayd(.head(answer), .end(nil))
        loop.advanceTime(by: .hours(1))
        #expect(channel.isActive)
        try relayd(.head(answer), .end(nil))
        loop.advanceTime(by: Self.limit)
        #expect(!channel.isActive)
    }
}
