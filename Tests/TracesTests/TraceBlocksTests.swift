// Blocks whose packet data is lent, compared with the same blocks with everything copied.

import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import Testing

@testable import Traces

@Suite("Blocks of a trace, gathered from pieces")
struct TraceBlocksTests {
    /// A whole file with these items, with large packets lent.
    private static func gathered(
        _ items: [TapItem], _ change: (inout TraceHeader) -> Void = { _ in }
    ) -> TraceBlocks {
        var encoder = TraceEncoder(Made.header(change), operatingSystem: "Linux")
        var blocks = TraceBlocks()
        encoder.begin(started: Made.started, at: Made.start, into: &blocks)
        for item in items { encoder.append(item, at: Made.start, into: &blocks) }
        encoder.end(because: "stopped", at: Made.start, into: &blocks)
        return blocks
    }

    private static func pieces(_ blocks: TraceBlocks) -> Int {
        blocks.withUnsafePieces(\.count)
    }

    private static func frame(
        _ bytes: Int, fate: FrameFate = .forwarded, service: ServiceType = .bulk
    ) -> TappedFrame {
        TappedFrame(
            frame: .data(session: 1, service: service, bytes: bytes), direction: .fromApp,
            app: AppID(rawValue: 1), time: Made.start, fate: fate)
    }

    @Test("a recorded session is the same file", arguments: ["js-full-1", "js-core-stops-1"])
    func captures(name: String) throws {
        let items = try Capture.items(name)
        let blocks = Self.gathered(items)
        #expect(blocks.joined == Made.trace(items))
        #expect(blocks.count == blocks.joined.readableBytes)
    }

    @Test("frames of every size around the least that is lent, with any padding")
    func sizes() {
        // Together with its header, a payload of this size makes the smallest frame that is lent.
        let least = TraceBlocks.leastLentBytes - Self.frame(0).frame.headerBytes
        for bytes in [0, 1, least - 1, least, least + 1, least + 2, least + 3, 100_001] {
            let items = [TapItem.frames([Self.frame(bytes), Self.frame(3), Self.frame(bytes)])]
            let blocks = Self.gathered(items)
            #expect(blocks.joined == Made.trace(items), "\(bytes)")
            #expect(Self.pieces(blocks) == (bytes < least ? 1 : 5), "\(bytes)")
        }
    }

    @Test("amended, dropped and masked frames, headers alone, and bytes that were none")
    func others() {
        let video = Self.frame(9000, service: .video)
        let json = #"{"vin":"\#(String(repeating: "7", count: 9000))"}"#
        let secret = TappedFrame(
            frame: .rpc(session: 1, .request, .show, correlation: 1, json: json),
            direction: .fromApp, app: AppID(rawValue: 1), time: Made.start)
        let items: [TapItem] = [
            .frames([
                Self.frame(9000, fate: .amended), Self.frame(9001, fate: .dropped(.queueFull)),
                TappedFrame(
                    frame: video.frame.headerOnly, direction: .fromApp, app: nil, time: Made.start),
            ]),
            .frames([secret]),
            .bytes(
                TappedBytes(
                    bytes: ByteBuffer(repeating: 1, count: 8191), direction: .fromAccessory,
                    app: nil, offset: 3, time: Made.start)),
        ]
        for masked in [[], ["vin"]] {
            let blocks = Self.gathered(items) { $0.masked = masked }
            #expect(blocks.joined == Made.trace(items) { $0.masked = masked })
            #expect(Self.pieces(blocks) == 9, "four are lent, masked or not")
        }
        #expect(secret.frame.wire.readableBytesView.contains(UInt8(ascii: "7")), "not in the tap")
    }

    @Test("what is whole of them, wherever they are cut")
    func whole() throws {
        let blocks = Self.gathered([.frames([Self.frame(5000), Self.frame(10)])])
        let all = blocks.joined
        var ends = [0]
        while let length = all.getInteger(
            at: (ends.last ?? 0) + 4, endianness: .little, as: UInt32.self)
        {
            ends.append((ends.last ?? 0) + Int(length))
        }
        #expect(ends.last == blocks.count && ends.count > 6)
        for limit in 0...blocks.count {
            let whole = blocks.bytesOfWholeBlocks(within: limit)
            let expected = ends.last { $0 <= limit }
            guard whole == expected else {
                Issue.record("\(whole) of \(limit)")
                return
            }
        }
    }

    @Test("nothing is kept once they are cleared")
    func cleared() {
        var blocks = TraceBlocks()
        var storage = ByteBuffer(repeating: 1, count: 9000)
        blocks.append(storage)
        #expect(storage.modifyIfUniquelyOwned { $0.clear() } == nil)
        blocks.clear()
        #expect(storage.modifyIfUniquelyOwned { $0.clear() } != nil)
        #expect(blocks.count == 0 && blocks.joined.readableBytes == 0)
    }
}
