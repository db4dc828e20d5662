import Media
import NIOCore
import Testing

@testable import relayd

@Suite("Who gets which pictures") struct VideoFeedTests {
    private static let first = MediaID(rawValue: 1)
    private static let second = MediaID(rawValue: 2)
    private var feed = VideoFeed()

    private static func bytes(_ text: String) -> ByteBuffer { ByteBuffer(string: text) }

    /// Adds a picture and returns the pieces that players receive: "1:key 2:key".
    private mutating func show(_ text: String, entry: String? = nil, of stream: MediaID = first)
        -> String
    {
        if let entry { feed.entry(stream, Self.bytes(entry)) }
        return Self.words(feed.picture(stream, Self.bytes(text)))
    }

    private static func words(_ pieces: [VideoFeed.Piece]) -> String {
        pieces.map { "\($0.player):\(String(buffer: $0.bytes))" }.joined(separator: " ")
    }

    private mutating func join() throws -> String {
        let place = feed.joined()
        return Self.words(try #require(place).pieces)
    }

    @Test("a player begins with a picture that a decoder can begin with, parameter sets in front")
    mutating func begins() throws {
        feed.began(Self.first)
        #expect(try join() == "")
        #expect(show("p1") == "")
        #expect(show("key", entry: "sets+key") == "1:sets+key")
        // A player that already has the picture receives the stream's exact bytes.
        #expect(show("p2") == "1:p2")
        #expect(show("key", entry: "sets+key") == "1:key")
    }

    @Test("who comes later gets the pictures since the last such one at once")
    mutating func comesLater() throws {
        feed.began(Self.first)
        #expect(show("key", entry: "sets+key") == "")
        #expect(show("p1") == "")
        #expect(try join() == "1:sets+key 1:p1")
        #expect(show("p2") == "1:p2")
        #expect(try join() == "2:sets+key 2:p1 2:p2")
    }

    @Test("a player that does not read gets nothing more, and goes on with a whole picture")
    mutating func slow() throws {
        feed.began(Self.first)
        _ = try join()
        _ = try join()
        let large = ByteBuffer(repeating: 1, count: VideoFeed.maximumPending / 2)
        feed.entry(Self.first, large)
        #expect(feed.picture(Self.first, large).map(\.player) == [1, 2])
        feed.took(large.readableBytes, 2)
        #expect(feed.picture(Self.first, large).map(\.player) == [1, 2])
        feed.took(large.readableBytes, 2)
        // The first player has read nothing.
        #expect(show("p") == "2:p")
        #expect(feed.drops == 1)
        feed.took(2 * large.readableBytes, 1)
        #expect(show("q") == "2:q", "not in the middle")
        #expect(show("key", entry: "sets+key") == "1:sets+key 2:key")
    }

    @Test("the video that began last is shown, and the one before it when that ends")
    mutating func several() throws {
        feed.began(Self.first)
        _ = show("key", entry: "sets+key")
        feed.began(Self.second)
        #expect(try join() == "", "pictures of the other stream are not for it")
        #expect(show("key", entry: "old") == "")
        #expect(show("KEY", entry: "SETS+KEY", of: Self.second) == "1:SETS+KEY")
        feed.ended(Self.second)
        #expect(show("p1") == "")
        #expect(show("key", entry: "sets+key") == "1:sets+key")
    }

    @Test("more players than there are places are turned away, and a place is free when one leaves")
    mutating func places() throws {
        for _ in 1...VideoFeed.maximumPlayers { _ = try join() }
        let surplus = feed.joined()
        #expect(surplus == nil)
        feed.left(1)
        _ = try join()
    }

    @Test("of a group that is too long to keep, a new player waits for the next beginning")
    mutating func longGroup() throws {
        feed.began(Self.first)
        _ = show("key", entry: "sets+key")
        _ = feed.picture(Self.first, ByteBuffer(repeating: 1, count: VideoFeed.maximumGroup))
        #expect(try join() == "")
        #expect(show("p") == "")
        #expect(show("key", entry: "sets+key") == "1:sets+key")
    }
}
