import NIOCore
import Testing

@testable import SDLProtocol

@Suite("A serial stream finds its frames again after garbage")
struct ResynchroniserTests {
    private func decode(
        _ pieces: [ByteBuffer], known: [UInt8] = [1], awaitsStartAnswer: Bool = false
    ) throws -> (frames: [ByteBuffer], decoder: FrameDecoder) {
        var decoder = FrameDecoder(rules: .fromAccessory(), recovery: .resynchronise)
        for session in known { decoder.expected.sessions.insert(session) }
        decoder.expected.awaitsStartAnswer = awaitsStartAnswer
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
        // When the rest reads as another size, the frame may claim any length: see the next test.
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

    @Test(
        "a StartService's answer behind garbage is believed at once, whatever session it brings",
        arguments: ["B1", "B2", "B3"],
        ["00", "FF 51", "7B 22 6E 61 6D 65 22 3A 22 73 70 65 65 64 22 7D 00"])
    func startAnswer(answer: String, garbage: String) throws {
        let answer = try Fixtures.example(answer)
        var stream = bytes(hex: garbage)
        stream.writeImmutableBuffer(answer)
        let (frames, decoder) = try decode([stream], known: [], awaitsStartAnswer: true)
        #expect(frames == [answer])
        #expect(decoder.garbageBytes == UInt64(bytes(hex: garbage).readableBytes))
        // Also when it arrives slowly, but not when no such answer is expected.
        let pieces = stream.readableBytesView.map { ByteBuffer(bytes: [$0]) }
        #expect(try decode(pieces, known: [], awaitsStartAnswer: true).frames == [answer])
        #expect(try decode([stream], known: []).frames.isEmpty)
    }

    @Test("only the answer to a StartService of RPC is expected, not any control frame")
    func notAnAnswer() throws {
        for hex in ["50 07 04 63 00000000 00000001", "50 0B 02 63 00000000 00000001"] {
            var stream = bytes(hex: "FF")
            stream.writeImmutableBuffer(bytes(hex: hex))
            #expect(try decode([stream], awaitsStartAnswer: true).frames.isEmpty)
        }
    }

    @Test("an answer that waits for proof is let go when a StartService is sent")
    func expectationChanges() throws {
        var stream = bytes(hex: "FF")
        stream.writeImmutableBuffer(try Fixtures.example("B3"))
        var (frames, decoder) = try decode([stream], known: [])
        #expect(frames.isEmpty)
        decoder.expected.awaitsStartAnswer = true
        while let frame = try decoder.next() { frames.append(frame.wire) }
        #expect(frames == [try Fixtures.example("B3")])
    }

    @Test("a whole frame that nothing proves is believed when the stream falls silent")
    func silence() throws {
        var stream = bytes(hex: "FF")
        let unknown = bytes(hex: "51 07 00 63 00000002 00000001 4141")
        stream.writeImmutableBuffer(unknown)
        for fragment in ["", "51", "51 07 00 63 00000002 000000"] {
            var whole = stream
            whole.writeImmutableBuffer(bytes(hex: fragment))
            var (frames, decoder) = try decode([whole])
            #expect(frames.isEmpty)
            #expect(decoder.isWorthSettling)
            decoder.settle()
            while let frame = try decoder.next() { frames.append(frame.wire) }
            #expect(frames == [unknown])
            #expect(!decoder.isWorthSettling)
            #expect(decoder.undecoded == bytes(hex: fragment))
            let report = decoder.takeGarbageReport()
            #expect(report?.bytes == 1)
        }
    }

    @Test("few bytes of garbage are reported when the stream falls silent, and only once")
    func silentGarbage() throws {
        var (frames, decoder) = try decode([bytes(hex: "FF FF 51 07 00 01 00000100")])
        #expect(frames.isEmpty && decoder.isSearching && !decoder.isInsideFrame)
        #expect(decoder.isWorthSettling)
        decoder.settle()
        let report = decoder.takeGarbageReport()
        #expect(report?.bytes == 2 && report?.isOver == false)
        #expect(!decoder.isWorthSettling)
    }

    @Test("garbage that comes in dribs, with silence between, is reported ever more rarely")
    func trickle() throws {
        var decoder = FrameDecoder(rules: .fromAccessory(), recovery: .resynchronise)
        var reports: [UInt64] = []
        for _ in 0..<1000 {
            decoder.append(ByteBuffer(repeating: 0x66, count: 40))
            while try decoder.next() != nil { Issue.record("no frame came") }
            if let report = decoder.takeGarbageReport() { reports.append(report.bytes) }
            guard decoder.isWorthSettling else { continue }
            decoder.settle()
            if let report = decoder.takeGarbageReport() { reports.append(report.bytes) }
        }
        #expect(reports.first == 40 && reports.count < 12, "\(reports)")
        #expect(decoder.garbageBytes == 40_000)
    }

    @Test("what head units answer on a dead session is a frame, also the one behind garbage")
    func deadSession() throws {
        let late = bytes(hex: "51 07 00 01 00000002 00000000 4141")
        let known = try Fixtures.example("G3")
        var stream = late
        stream.writeImmutableBuffer(bytes(hex: "FF"))
        stream.writeImmutableBuffer(known)
        stream.writeImmutableBuffer(late)
        let (frames, decoder) = try decode([stream])
        #expect(frames == [late, known, late])
        #expect(decoder.garbageBytes == 1)
    }

    @Test("garbage at several places of a read is reported with all its bytes")
    func severalPlaces() throws {
        let frame = try Fixtures.example("G3")
        var stream = ByteBuffer()
        for _ in 0..<3 {
            stream.writeImmutableBuffer(frame)
            stream.writeImmutableBuffer(frame)
            stream.writeImmutableBuffer(bytes(hex: "FF FF"))
        }
        stream.writeImmutableBuffer(frame)
        var (frames, decoder) = try decode([stream])
        #expect(frames.count == 7)
        let report = decoder.takeGarbageReport()
        #expect(report?.bytes == 6 && report?.offset == UInt64(2 * frame.readableBytes))
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
