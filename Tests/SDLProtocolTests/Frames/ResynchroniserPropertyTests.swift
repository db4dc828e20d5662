// The search for frames against a straightforward one, and its cost.

import NIOCore
import RelayTesting
import Testing

@testable import SDLProtocol

@Suite("The search for frames finds what an obvious one finds, in linear time")
struct ResynchroniserPropertyTests {
    @Test(
        "random streams cut anywhere: the same bytes found at the same place",
        arguments: 0..<UInt64(Effort.rounds(8, orQuickly: 4)))
    func equivalence(seed: UInt64) async {
        var random = SeededGenerator(seed: seed)
        var (finds, settlements) = (0, 0)
        let rounds = Effort.rounds(200, orQuickly: 60)
        for _ in 0..<rounds {
            await Task.yield()
            var expected = Self.expectation(&random)
            let first = Self.stream(&random)
            var search = Resynchroniser(
                after: .compressed, at: 7, bytes: first, maximumPayloadBytes: 131_100)
            var obvious = ObviousSearch(bytes: Array(first.readableBytesView))
            for _ in 0..<40 {
                let found = search.search(expecting: expected).map { Array($0.readableBytesView) }
                #expect(found == obvious.search(expected))
                #expect(search.droppedBytes == UInt64(obvious.dropped))
                if found != nil {
                    finds += 1
                    break
                }
                if Int.random(in: 0..<12, using: &random) == 0 {
                    var (settling, obviously) = (search, obvious)
                    let settled = settling.settle().map { Array($0.readableBytesView) }
                    #expect(settled == obviously.settle(expected))
                    if settled != nil { settlements += 1 }
                }
                if Int.random(in: 0..<8, using: &random) == 0 {
                    expected = Self.expectation(&random)
                }
                let stream = Self.stream(&random)
                let count = Int.random(in: 0...stream.readableBytes, using: &random)
                let more = stream.getSlice(at: stream.readerIndex, length: count) ?? ByteBuffer()
                search.append(more)
                obvious.bytes += more.readableBytesView
            }
        }
        #expect(finds > rounds / 2 && settlements > 0, "the streams bring both about")
    }

    @Test(
        "a candidate that never completes, again and again, costs each byte a bounded number of steps",
        arguments: [1, 16, 128, 8192], ["huge", "nested", "noise", "frames of nobody"])
    func linear(pieceBytes: Int, kind: String) async {
        var random = SeededGenerator(seed: 1)
        let pattern: [UInt8] =
            switch kind {
            // Headers that claim more bytes than arrive.
            case "huge": [0x51, 7, 0, 1, 0, 1, 0xFF, 0xFF, 0, 0, 0, 1]
            // Two hundred headers at a time claim to end at one place, where no frame follows.
            case "nested":
                (1...200).reversed().flatMap { (number: Int) -> [UInt8] in
                    let size = number * 12 - 1
                    return [
                        0x51, 7, 0, 0x63, 0, 0, UInt8(size >> 8), UInt8(size & 0xFF), 0, 0, 0, 1,
                    ]
                }
            case "noise": (0..<4099).map { _ in UInt8.random(in: 0...255, using: &random) }
            default: [0x10, 7, 4, 0x63, 0, 0, 0, 0, 0xFF]
            }
        var search = Resynchroniser(
            after: .compressed, at: 0, bytes: ByteBuffer(bytes: [0xFF]),
            maximumPayloadBytes: 131_100)
        // More than the maximum kept, where a step is cheap enough for debug builds.
        let quick = pieceBytes < 1024 ? 16 << 10 : 192 << 10
        let total = Effort.rounds(pieceBytes == 1 ? 64 << 10 : 256 << 10, orQuickly: quick)
        var (sent, finds) = (0, 0)
        while sent < total {
            if sent % 4096 == 0 { await Task.yield() }
            let piece = (sent..<sent + pieceBytes).map { pattern[$0 % pattern.count] }
            search.append(ByteBuffer(bytes: piece))
            if search.search(expecting: FrameExpectation()) != nil { finds += 1 }
            sent += pieceBytes
        }
        #expect(finds == 0)
        // Twelve bytes of header, each position once more; and all candidates that end at one place.
        let most: UInt64 = kind == "nested" ? 80 : 16
        #expect(search.steps <= UInt64(total) * most, "\(search.steps) steps for \(total) bytes")
        #expect(search.keptBytes <= 131_112 + pieceBytes)
    }

    @Test("garbage between all frames of a read copies none of its bytes")
    func noCopies() throws {
        let frame = bytes(hex: "51 07 00 01 00000002 00000001 4141")
        var stream = ByteBuffer()
        for _ in 0..<10_000 {
            stream.writeImmutableBuffer(frame)
            stream.writeImmutableBuffer(frame)
            stream.writeInteger(UInt8(0xFF))
        }
        let base = stream.withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) }
        var decoder = FrameDecoder(rules: .fromAccessory(), recovery: .resynchronise)
        decoder.expected.sessions.insert(1)
        decoder.append(stream)
        for index in 0..<20_000 {
            let next = try decoder.next()
            let wire = try #require(next).wire
            let address = wire.withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) }
            #expect(address == base + UInt(index * 14 + index / 2))
        }
    }

    @Test("a decoder gives the same frames and counts, however slowly a damaged stream comes")
    func slicing() async throws {
        var random = SeededGenerator(seed: 99)
        for _ in 0..<Effort.rounds(300, orQuickly: 60) {
            await Task.yield()
            var stream = ByteBuffer()
            var sent: [ByteBuffer] = []
            for number in 0..<20 {
                let frame = Self.frame(session: 1, bytes: number % 5 * 7 + 2)
                // Two frames, because after garbage a frame is not believed if garbage follows it.
                sent += [frame, frame]
                stream.writeImmutableBuffer(frame)
                stream.writeImmutableBuffer(frame)
                // Bytes that cannot begin a frame, so that only garbage is lost.
                guard Bool.random(using: &random) else { continue }
                stream.writeRepeatingByte(0xFF, count: Int.random(in: 1...40, using: &random))
            }
            stream.writeImmutableBuffer(Self.frame(session: 1, bytes: 2))
            sent.append(Self.frame(session: 1, bytes: 2))
            let frameBytes = sent.reduce(0) { $0 + $1.readableBytes }
            var decoder = FrameDecoder(rules: .fromAccessory(), recovery: .resynchronise)
            decoder.expected.sessions.insert(1)
            var (frames, reported): ([ByteBuffer], UInt64) = ([], 0)
            let total = stream.readableBytes
            while stream.readableBytes > 0 {
                let count = min(stream.readableBytes, Int.random(in: 1...50, using: &random))
                decoder.append(stream.readSlice(length: count) ?? ByteBuffer())
                while let frame = try decoder.next() { frames.append(frame.wire) }
                if let report = decoder.takeGarbageReport(), report.isOver {
                    reported += report.bytes
                }
            }
            #expect(frames == sent)
            #expect(decoder.offset == UInt64(total))
            #expect(decoder.garbageBytes == UInt64(total - frameBytes))
            #expect(reported == decoder.garbageBytes)
        }
    }

    // MARK: Random streams

    private static func expectation(_ random: inout SeededGenerator) -> FrameExpectation {
        var expected = FrameExpectation()
        if Bool.random(using: &random) { expected.sessions.insert(1) }
        expected.awaitsStartAnswer = Int.random(in: 0..<4, using: &random) == 0
        return expected
    }

    private static func frame(session: UInt8, bytes: Int) -> ByteBuffer {
        Frame(
            version: 5, type: .single, service: .rpc, sessionID: session, messageID: 1,
            payload: ByteBuffer(repeating: 0x41, count: bytes)
        ).wire
    }

    /// Noise, pieces of headers, headers that claim too much, and frames.
    private static func stream(_ random: inout SeededGenerator) -> ByteBuffer {
        var stream = ByteBuffer()
        stream.writeInteger(UInt8.random(in: 0...255, using: &random))
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            let session = UInt8.random(in: 0...3, using: &random)
            switch Int.random(in: 0..<8, using: &random) {
            case 0:
                for _ in 0..<Int.random(in: 1...30, using: &random) {
                    stream.writeInteger(UInt8.random(in: 0...255, using: &random))
                }
            case 1: stream.writeBytes([0x51, 7, 0, session])
            case 2:
                let claimed = UInt8.random(in: 1...200, using: &random)
                stream.writeBytes([0x51, 7, 0, session, 0, 0, 0, claimed, 0, 0, 0, 1])
            case 3:
                stream.writeBytes([0x10, 7, UInt8.random(in: 2...4, using: &random), session])
                stream.writeInteger(UInt32(0))
            case 4: stream.writeRepeatingByte(0x51, count: 3)
            default:
                stream.writeImmutableBuffer(
                    frame(session: session, bytes: Int.random(in: 1...40, using: &random)))
            }
        }
        return stream
    }
}

/// Looks at every byte again each time, as in the description of the search.
private struct ObviousSearch {
    private static let candidate = FrameRules.searching(maximumPayloadBytes: 131_100)
    private static let successor = FrameRules.fromAccessory(maximumPayloadBytes: 131_100)

    /// The first byte begins no frame.
    var bytes: [UInt8]
    private(set) var dropped = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
        drop(1)
    }

    private enum Verdict { case impossible, fragment, incomplete, whole, believable }

    mutating func search(_ expected: FrameExpectation) -> [UInt8]? {
        let buffer = ByteBuffer(bytes: bytes)
        let verdicts = bytes.indices.map { judge($0, in: buffer, expected) }
        if let found = verdicts.firstIndex(of: .believable) {
            drop(found)
            return bytes
        }
        let fragment = verdicts.firstIndex(of: .fragment) ?? bytes.count
        let open = verdicts.indices.filter { [.incomplete, .whole].contains(verdicts[$0]) }
        drop(min(open.suffix(Resynchroniser.maximumCandidates).first ?? fragment, fragment))
        return nil
    }

    mutating func settle(_ expected: FrameExpectation) -> [UInt8]? {
        let buffer = ByteBuffer(bytes: bytes)
        guard let whole = bytes.indices.first(where: { judge($0, in: buffer, expected) == .whole })
        else { return nil }
        drop(whole)
        return bytes
    }

    private mutating func drop(_ count: Int) {
        bytes.removeFirst(count)
        dropped += count
    }

    private func judge(
        _ index: Int, in buffer: ByteBuffer, _ expected: FrameExpectation
    ) -> Verdict {
        do {
            guard let count = try Self.candidate.frameBytes(in: buffer, at: index)
            else { return .fragment }
            guard index + count <= bytes.count else { return .incomplete }
            let end = index + count
            if end < bytes.count, try Self.successor.frameBytes(in: buffer, at: end) != nil {
                return .believable
            }
            let frame = Frame(checked: ByteBuffer(bytes: bytes[index..<end]))
            let isAnswer =
                frame.service == .rpc
                && (frame.controlType == .startServiceACK || frame.controlType == .startServiceNAK)
            return frame.sessionID == 0 || expected.sessions.contains(frame.sessionID)
                || (expected.awaitsStartAnswer && isAnswer) ? .believable : .whole
        } catch {
            return .impossible
        }
    }
}
