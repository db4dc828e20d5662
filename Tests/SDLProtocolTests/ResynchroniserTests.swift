import NIOCore
import Testing

@testable import SDLProtocol

@Suite("A serial stream finds its frames again after garbage")
struct ResynchroniserTests {
    private func decode(
        _ pieces: [ByteBuffer], known: [UInt8] = [1]
    ) throws -> (frames: [ByteBuffer], decoder: FrameDecoder) {
        var decoder = FrameDecoder(rules: .fromAccessory(), recovery: .resynchronise)
        for session in known { decoder.knownSessions.insert(session) }
        var frames: [ByteBuffer] = []
        for piece in pieces {
            decoder.append(piece)
            while let frame = try decoder.next() { frames.append(frame.wire) }
        }
        return (frames, decoder)
    }

    @Test("garbage between two frames costs neither of them")
    func between() throws {
        let (first, second) = (try Fixtures.example("G1"), try Fixtures.example("G3"))
        for garbage in ["00", "FF FF FF", "41 54 2B 0D 0A", "10 10 10 10", "51 07 00"] {
            var stream = first
            stream.writeImmutableBuffer(bytes(hex: garbage))
            stream.writeImmutableBuffer(second)
            stream.writeImmutableBuffer(first)
            var (frames, decoder) = try decode([stream])
            #expect(frames == [first, second, first], "garbage \(garbage)")
            #expect(decoder.garbageBytes == UInt64(bytes(hex: garbage).readableBytes))
            let garbageReport = decoder.takeGarbageReport()
            let report = try #require(garbageReport)
            #expect(report.offset == UInt64(first.readableBytes))
            #expect(report.excerpt == bytes(hex: garbage))
            #expect(report.isOver)
            let again = decoder.takeGarbageReport()
            #expect(again == nil)
        }
    }

    @Test("the same, byte by byte as a slow line delivers it")
    func byteByByte() throws {
        let (first, second) = (try Fixtures.example("G1"), try Fixtures.example("G3"))
        var stream = first
        stream.writeBytes([0xDE, 0xAD, 0x51, 0x07, 0xBE, 0xEF])
        stream.writeImmutableBuffer(second)
        stream.writeImmutableBuffer(first)
        let pieces = stream.readableBytesView.map { ByteBuffer(bytes: [$0]) }
        let (frames, decoder) = try decode(pieces)
        #expect(frames == [first, second, first])
        #expect(decoder.garbageBytes == 6)
        #expect(decoder.offset == UInt64(stream.readableBytes))
    }

    @Test("a lost byte costs the frame it was lost from and no other")
    func lostByte() throws {
        let (first, second) = (try Fixtures.example("G1"), try Fixtures.example("G3"))
        // When what is left reads as another size, the frame may claim any length: the next test.
        for lost in 0..<first.readableBytes where ![1, 4, 5, 6, 7].contains(lost) {
            var damaged = Array(first.readableBytesView)
            damaged.remove(at: lost)
            var stream = second
            stream.writeBytes(damaged)
            for _ in 0..<3 { stream.writeImmutableBuffer(second) }
            let (frames, _) = try decode([stream])
            #expect(frames.filter { $0 == second }.count >= 3, "byte \(lost) lost")
        }
    }

    @Test("a frame that claims too much is given up when its end does not come")
    func stalled() throws {
        let frame = try Fixtures.example("G3")
        var stream = bytes(hex: "51 07 00 01 0001F000 00000001")
        stream.writeImmutableBuffer(frame)
        stream.writeImmutableBuffer(frame)
        var (frames, decoder) = try decode([stream])
        #expect(frames.isEmpty)
        #expect(decoder.isInsideFrame)
        decoder.abandonPartialFrame()
        while let frame = try decoder.next() { frames.append(frame.wire) }
        #expect(frames == [frame, frame])
        #expect(decoder.garbageBytes == 12)
    }

    @Test("a false header with a huge size does not swallow the frames behind it")
    func falseHeader() throws {
        let frame = try Fixtures.example("G3")
        var stream = bytes(hex: "FF 51 07 00 01 0001F000 00000001")
        stream.writeImmutableBuffer(frame)
        stream.writeImmutableBuffer(frame)
        let (frames, _) = try decode([stream])
        #expect(frames == [frame, frame])
    }

    @Test("frames of a session nobody has need a proven successor")
    func unknownSession() throws {
        let known = try Fixtures.example("G3")
        var stream = bytes(hex: "FF 51 07 00 63 00000002 00000001 4141")
        let (none, _) = try decode([stream])
        #expect(none.isEmpty)
        stream.writeImmutableBuffer(known)
        let (frames, _) = try decode([stream])
        #expect(frames.count == 2)
    }

    @Test("endless garbage is reported while it goes on, and forgotten")
    func endless() async throws {
        var decoder = FrameDecoder(rules: .fromAccessory(), recovery: .resynchronise)
        let noise = ByteBuffer(repeating: 0x7B, count: 4096)
        var interim: GarbageReport?
        for _ in 0..<40 {
            await Task.yield()
            decoder.append(noise)
            let rest = try decoder.next()
            #expect(rest == nil)
            interim = decoder.takeGarbageReport() ?? interim
        }
        #expect(decoder.garbageBytes == 40 * 4096)
        let report = try #require(interim)
        #expect(!report.isOver)
        #expect(WrongProtocol(firstBytes: report.excerpt) == nil)
        #expect(report.excerpt.readableBytes == Resynchroniser.excerptBytes)
    }
}
