import NIOCore
import Testing

@testable import SDLProtocol

@Suite("FrameDecoder cuts a stream into whole frames")
struct FrameDecoderTests {
    @Test("every documented frame passes and keeps its bytes", arguments: Fixtures.hexExamples)
    func roundTrip(example: Fixtures.HexExample) throws {
        var decoder = FrameDecoder(rules: .fromApp(), recovery: .fail)
        decoder.append(example.bytes)
        let next = try decoder.next()
        let frame = try #require(next)
        #expect(frame.wire == example.bytes)
        let rest = try decoder.next()
        #expect(rest == nil)
        // Rebuilt from its fields, it is the same frame.
        let rebuilt = Frame(
            version: frame.version, isEncrypted: frame.isEncrypted, type: frame.type,
            service: frame.service, info: frame.info, sessionID: frame.sessionID,
            messageID: frame.messageID ?? 0, payload: frame.payload)
        #expect(rebuilt == frame)
    }

    @Test("all documented frames in one stream come out one by one, however the bytes are sliced")
    func slicing() throws {
        var stream = ByteBuffer()
        for example in Fixtures.hexExamples { stream.writeImmutableBuffer(example.bytes) }
        let expected = Fixtures.hexExamples.map(\.bytes)
        for pieceBytes in [1, 2, 3, 7, 8, 11, 12, 13, 64, 4096] {
            var decoder = FrameDecoder(rules: .fromApp(), recovery: .fail)
            var rest = stream
            var frames: [ByteBuffer] = []
            while let piece = rest.readSlice(length: min(pieceBytes, rest.readableBytes)),
                piece.readableBytes > 0
            {
                decoder.append(piece)
                while let frame = try decoder.next() { frames.append(frame.wire) }
            }
            #expect(frames == expected, "in pieces of \(pieceBytes) B")
            #expect(!decoder.isInsideFrame)
            #expect(decoder.offset == UInt64(stream.readableBytes))
        }
    }

    @Test("a stream cut in two at any byte gives the same frames")
    func everySplit() throws {
        var stream = ByteBuffer()
        for name in ["A2", "B3", "H1", "H2", "H3", "H4", "C2"] {
            stream.writeImmutableBuffer(try Fixtures.example(name))
        }
        for cut in 0...stream.readableBytes {
            var decoder = FrameDecoder(rules: .fromApp(), recovery: .fail)
            var rest = stream
            var count = 0
            decoder.append(rest.readSlice(length: cut) ?? ByteBuffer())
            while try decoder.next() != nil { count += 1 }
            decoder.append(rest)
            while try decoder.next() != nil { count += 1 }
            #expect(count == 7, "cut at \(cut)")
        }
    }

    @Test(
        "recorded sessions of a real head unit and a real app decode without rest",
        arguments: [
            ("js-full-1.up.bin", 21), ("js-full-1.down.bin", 34), ("js-killed-1.up.bin", 16),
            ("js-killed-1.down.bin", 29), ("js-core-stops-1.up.bin", 17),
            ("js-core-stops-1.down.bin", 31),
        ])
    func captures(name: String, count: Int) throws {
        let stream = try Fixtures.capture(name)
        let rules: FrameRules = name.contains(".up.") ? .fromApp() : .fromAccessory()
        var decoder = FrameDecoder(rules: rules, recovery: .fail)
        decoder.append(stream)
        var frames: [Frame] = []
        while let frame = try decoder.next() { frames.append(frame) }
        #expect(frames.count == count)
        #expect(frames.reduce(into: ByteBuffer()) { $0.writeImmutableBuffer($1.wire) } == stream)
        #expect(!decoder.isInsideFrame)
    }

    @Test("frames of one read share its storage; only the straddling one is copied")
    func sharesStorage() throws {
        var stream = ByteBuffer()
        for _ in 0..<3 { stream.writeImmutableBuffer(try Fixtures.example("G4")) }
        var decoder = FrameDecoder(rules: .fromApp(), recovery: .fail)
        decoder.append(stream)
        let base = stream.withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) }
        for index in 0..<3 {
            let next = try decoder.next()
            let frame = try #require(next)
            let address = frame.wire.withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) }
            #expect(address == base + UInt(index * 102))
        }
    }

    @Test("a frame's fields are read from its bytes")
    func fields() throws {
        var decoder = FrameDecoder(rules: .fromApp(), recovery: .fail)
        decoder.append(try Fixtures.example("H3"))
        let next = try decoder.next()
        let frame = try #require(next)
        #expect(frame.version == 5)
        #expect(frame.type == .consecutive)
        #expect(frame.service == .rpc)
        #expect(frame.info == 2)
        #expect(frame.sessionID == 1)
        #expect(frame.messageID == 6)
        #expect(frame.payloadBytes == 12)
        #expect(!frame.isEncrypted)
        #expect(MemoryLayout<Frame>.size <= 32, "queues and batches keep frames by the thousand")
    }
}
