import Foundation
import Media
import NIOCore
import RelayTesting
import Testing

/// Handmade packets (RFC 3550, section 5.1).
enum Packets {
    static func packet(
        _ sequence: UInt16, at timestamp: UInt32 = 1000, marked: Bool = false, first: UInt8 = 0x80,
        _ payload: [UInt8]
    ) -> [UInt8] {
        [
            first,  // version 2, no padding, no extension, no contributing sources
            (marked ? 0x80 : 0) | 96,  // marker, payload type
            UInt8(sequence >> 8), UInt8(sequence & 0xFF),
            UInt8(timestamp >> 24), UInt8(timestamp >> 16 & 0xFF), UInt8(timestamp >> 8 & 0xFF),
            UInt8(timestamp & 0xFF),
            0xDE, 0xAD, 0xBE, 0xEF,  // synchronisation source
        ] + payload
    }

    /// The packets, each after its length (RFC 4571, section 2).
    static func framed(_ packets: [UInt8]...) -> [UInt8] {
        packets.flatMap { [UInt8($0.count >> 8), UInt8($0.count & 0xFF)] + $0 }
    }

    /// STAP-A (RFC 6184, section 5.7.1).
    static func aggregate(_ units: [UInt8]...) -> [UInt8] {
        [0x78] + units.flatMap { [UInt8($0.count >> 8), UInt8($0.count & 0xFF)] + $0 }
    }

    /// FU-A (RFC 6184, section 5.8): indicator with type 28, header with start, end and type.
    static func fragment(_ unit: [UInt8], start: Bool, end: Bool, _ bytes: [UInt8]) -> [UInt8] {
        [unit[0] & 0xE0 | 28, (start ? 0x80 : 0) | (end ? 0x40 : 0) | unit[0] & 0x1F] + bytes
    }
}

@Suite("H.264 in RTP") struct RTPTests {
    private static func stream() -> VideoStream {
        var format = VideoFormat()
        format.transport = "RTP"
        return VideoStream(format)
    }

    private static func pictures(
        _ bytes: [UInt8], _ stream: inout VideoStream
    ) -> [[UInt8]] {
        stream.receive(ByteBuffer(bytes: bytes), beginsMessage: true).map(\.annexB.array)
    }

    @Test("single units, aggregations and fragments become the stream they were made of")
    func golden() {
        let key = Units.key(7)
        let bytes = Packets.framed(
            Packets.packet(65_534, Packets.aggregate(Units.sequence, Units.picture)),
            // The marker on each fragment of the last unit, as sdl_ios sets it.
            Packets.packet(
                65_535, marked: true, Packets.fragment(key, start: true, end: false, [key[1]])),
            Packets.packet(
                0, marked: true, Packets.fragment(key, start: false, end: false, [key[2]])),
            Packets.packet(
                1, marked: true, Packets.fragment(key, start: false, end: true, [key[3]])),
            Packets.packet(2, at: 7000, marked: true, Units.other(1)),
            // Without a marker: the timestamp shows the end.
            Packets.packet(3, at: 13_000, Units.other(2)),
            Packets.packet(4, at: 13_000, Units.more()),
            Packets.packet(5, at: 19_000, marked: true, Units.other(3)))
        let wanted = [
            Units.annexB([Units.sequence, Units.picture, key]), Units.annexB([Units.other(1)]),
            Units.annexB([Units.other(2), Units.more()]), Units.annexB([Units.other(3)]),
        ]
        var whole = Self.stream()
        #expect(Self.pictures(bytes, &whole) == wanted)
        #expect(whole.faults == 0)
        // Byte by byte, in one message.
        var slow = Self.stream()
        let slowly = bytes.enumerated().flatMap {
            slow.receive(ByteBuffer(bytes: [$1]), beginsMessage: $0 == 0).map(\.annexB.array)
        }
        #expect(slowly == wanted)
        // The format was not announced.
        var guessed = VideoStream(VideoFormat())
        #expect(Self.pictures(bytes, &guessed) == wanted)
    }

    @Test("what ffmpeg packs into RTP comes out as the film that it was")
    func ffmpeg() throws {
        let folder = Checkout.fixtures.appending(path: "media")
        let film = [UInt8](try Data(contentsOf: folder.appending(path: "testsrc.h264")))
        let packets = [UInt8](try Data(contentsOf: folder.appending(path: "testsrc.rtp")))
        // In SDL frames of any size: the lengths separate the packets.
        for size in [1, 99, 1024, packets.count] {
            var stream = Self.stream()
            var pictures: [[UInt8]] = []
            for start in stride(from: 0, to: packets.count, by: size) {
                let part = packets[start..<min(start + size, packets.count)]
                pictures += stream.receive(ByteBuffer(bytes: part), beginsMessage: start == 0)
                    .map(\.annexB.array)
            }
            #expect(pictures.count == 12)
            #expect(stream.faults == 0)
            #expect(Units.split(pictures.flatMap(\.self)) == Units.split(film))
        }
    }

    @Test("padding, extensions and contributing sources are taken off")
    func header() throws {
        let bytes = Packets.packet(
            1, first: 0x80 | 0x20 | 0x10 | 1,
            [1, 2, 3, 4] + [0xBE, 0xDE, 0, 1, 9, 9, 9, 9] + Units.key() + [0, 0, 3])
        #expect(try RTPPacket(ByteBuffer(bytes: bytes)).payload.array == Units.key())
    }

    @Test(
        "what is no packet is told and left out",
        arguments: [
            ([], RTPFault.tooShort(bytes: 0)),
            ([0x80, 96, 0], .tooShort(bytes: 3)),
            (Packets.packet(1, first: 0x40, []), .version(1)),
            (Packets.packet(1, first: 0x8F, [1, 2, 3]), .tooShort(bytes: 15)),
            (Packets.packet(1, first: 0x90, [0, 0, 0xFF, 0xFF, 1]), .tooShort(bytes: 17)),
            (Packets.packet(1, first: 0xA0, [1, 2, 200]), .padding(200, of: 3)),
            (Packets.packet(1, first: 0xA0, [1, 2, 0]), .padding(0, of: 3)),
            (Packets.packet(1, first: 0xA0, []), .padding(0, of: 0)),
        ] as [([UInt8], RTPFault)])
    func noPacket(bytes: [UInt8], fault: RTPFault) {
        #expect(throws: fault) { try RTPPacket(ByteBuffer(bytes: bytes)) }
    }

    @Test(
        "hostile payloads are told and left out",
        arguments: [
            ([0x78, 0xFF, 0xFF, 1], RTPFault.unitTooLong(65_535, of: 1)),
            ([0x78], .noUnit),
            ([0x78, 0, 0], .noUnit),
            ([0x78, 0, 1, 0x65, 7], .noUnit),
            ([0x7C], .noUnit),
            ([0x7C, 0x05, 1], .noBeginning),
            ([0x7C, 0x45, 1], .noBeginning),
            ([0x7D, 1, 2], .type(29)),
            ([0x60, 1], .type(0)),
            // An aggregation inside a fragment.
            ([0x7C, 0xC0 | 24, 1], .type(24)),
        ] as [([UInt8], RTPFault)])
    func payload(bytes: [UInt8], fault: RTPFault) throws {
        var packets = RTPDepacketiser()
        let packet = try RTPPacket(ByteBuffer(bytes: Packets.packet(1, bytes)))
        #expect(throws: fault) { try packets.receive(packet) }
        let next = try RTPPacket(ByteBuffer(bytes: Packets.packet(2, Units.key())))
        let units = try packets.receive(next).units
        #expect(units.map(\.bytes.array) == [Units.key()])
    }

    @Test("a fragmented unit is bounded, however many fragments come")
    func manyFragments() {
        var stream = Self.stream()
        let key = Units.key()
        let piece = [UInt8](repeating: 0x55, count: 100)
        _ = Self.pictures(
            Packets.framed(
                Packets.packet(0, Packets.aggregate(Units.sequence, Units.picture)),
                Packets.packet(1, Packets.fragment(key, start: true, end: false, piece))), &stream)
        var shown = 0
        for number in 2...100_000 {
            let packet = Packets.packet(
                UInt16(truncatingIfNeeded: number),
                Packets.fragment(key, start: false, end: false, piece))
            shown += Self.pictures(Packets.framed(packet), &stream).count
        }
        #expect(shown == 0)
        #expect(stream.firstFault == .oversized)
        // The stream continues after that.
        let next = UInt16(truncatingIfNeeded: 100_001)
        #expect(
            Self.pictures(
                Packets.framed(Packets.packet(next, at: 9, marked: true, key)), &stream)
                == [Units.annexB([Units.sequence, Units.picture, key])])
    }

    @Test("behind a missing packet the stream goes on with the next key picture")
    func missing() {
        var stream = Self.stream()
        func send(_ sequence: UInt16, _ unit: [UInt8]) -> [[UInt8]] {
            Self.pictures(
                Packets.framed(
                    Packets.packet(sequence, at: UInt32(sequence) * 100, marked: true, unit)),
                &stream)
        }
        let start = Packets.aggregate(Units.sequence, Units.picture, Units.key(1))
        #expect(send(1, start).count == 1)
        #expect(send(2, Units.other(1)).count == 1)
        #expect(send(4, Units.other(3)).isEmpty)
        #expect(send(5, Units.other(4)).isEmpty)
        #expect(send(6, Units.key(2)).count == 1)
        #expect(stream.firstFault == .missing(from: 2, to: 4))
        #expect(stream.picturesLost == 2)
    }

    /// A stream that has shown its first picture, with packet 1.
    private static func begun() -> VideoStream {
        var stream = stream()
        let start = Packets.aggregate(Units.sequence, Units.picture, Units.key(1))
        let shown = pictures(
            Packets.framed(Packets.packet(1, at: 100, marked: true, start)), &stream)
        #expect(shown.count == 1)
        return stream
    }

    @Test("a picture whose end is missing is not shown, whatever tells its end")
    func noEnd() {
        var stream = Self.begun()
        // The second slice is lost, and the marker with it.
        #expect(
            Self.pictures(Packets.framed(Packets.packet(2, at: 200, Units.key(2))), &stream) == [])
        let next = Packets.packet(4, at: 300, marked: true, Units.other(1))
        #expect(Self.pictures(Packets.framed(next), &stream) == [])
        #expect(stream.firstFault == .missing(from: 2, to: 4) && stream.faults == 1)
        #expect(stream.picturesLost == 1)

        // No packet is missing, but the second slice has no last fragment.
        var open = Self.begun()
        let more = Units.more()
        let begun = Packets.framed(
            Packets.packet(2, at: 200, Units.key(2)),
            Packets.packet(3, at: 200, Packets.fragment(more, start: true, end: false, [more[1]])))
        #expect(Self.pictures(begun, &open) == [])
        var ended = open
        let key = Packets.packet(4, at: 300, marked: true, Units.key(3))
        #expect(
            Self.pictures(Packets.framed(key), &open) == [
                Units.annexB([
                    Units.sequence, Units.picture, Units.key(3),
                ])
            ])
        #expect(open.firstFault == .noEnd && open.faults == 1)
        // The end of the stream does not complete it, either.
        #expect(ended.finish().isEmpty)
    }

    @Test("a whole key picture behind a gap is shown; one without its first slice is not")
    func keyBehindGap() {
        var stream = Self.begun()
        let whole = Packets.packet(5, at: 200, marked: true, Units.key(2))
        #expect(
            Self.pictures(Packets.framed(whole), &stream) == [
                Units.annexB([
                    Units.sequence, Units.picture, Units.key(2),
                ])
            ])
        #expect(stream.firstFault == .missing(from: 1, to: 5))
        #expect(stream.picturesLost == 0)

        var late = Self.begun()
        // `first_mb_in_slice` is not 0.
        let rest = Packets.packet(5, at: 200, marked: true, [0x65, 0x42, 0x02, 0x33])
        #expect(Self.pictures(Packets.framed(rest), &late) == [])
        #expect(late.picturesLost == 1)
    }

    @Test("of a unit that lost a fragment the others are no faults of their own")
    func rest() {
        var stream = Self.begun()
        let key = Units.key(2)
        func piece(_ sequence: UInt16, start: Bool = false, end: Bool = false) -> [UInt8] {
            Packets.packet(
                sequence, at: 200, marked: end, Packets.fragment(key, start: start, end: end, [1]))
        }
        let bytes = Packets.framed(
            piece(2, start: true), piece(4), piece(5), piece(6), piece(7, end: true))
        #expect(Self.pictures(bytes, &stream) == [])
        #expect(stream.faults == 1)
        // Neither a gap nor a beginning: another fault, and again only one.
        #expect(Self.pictures(Packets.framed(piece(8), piece(9)), &stream) == [])
        #expect(stream.faults == 2)
    }

    @Test("the format is told by the beginning of a message, and by nothing in its middle")
    func format() {
        let raw =
            Units.annexB([Units.sequence, Units.picture, Units.key(1)])
            + Units.annexB([Units.other(1), Units.other(2)])
        let rawPictures = [Units.annexB([Units.sequence, Units.picture, Units.key(1)])]
        // The rest of a message, and beginnings whose third byte could belong to a packet.
        for (bytes, beginsMessage) in [
            ([0x12, 0x34, 0x80, 0x60, 1, 2, 3, 4], false),
            ([0x12, 0x34, 0x80, 0x01, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], true),
            ([0x00, 0x05, 0x80, 0x60, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], true),
            ([0x12, 0x34, 0xBF], true),
        ] as [([UInt8], Bool)] {
            var stream = VideoStream(VideoFormat())
            _ = stream.receive(ByteBuffer(bytes: bytes), beginsMessage: beginsMessage)
            #expect(Self.pictures(raw, &stream) == rawPictures)
        }
        // A complete packet, but not of this stream.
        var mistaken = VideoStream(VideoFormat())
        let packet = Packets.framed(Packets.packet(1, [0x41, 1]))
        _ = mistaken.receive(ByteBuffer(bytes: packet), beginsMessage: true)
        var shown: [[UInt8]] = []
        for _ in 0..<3 { shown += Self.pictures(raw, &mistaken) }
        #expect(shown.count >= 2)

        // The other way round: packets are found after bytes that were not packets.
        let good = Packets.framed(
            Packets.packet(
                9, marked: true, Packets.aggregate(Units.sequence, Units.picture, Units.key(1))))
        var late = VideoStream(VideoFormat())
        _ = late.receive(ByteBuffer(bytes: [7, 7, 7, 7, 7]), beginsMessage: false)
        #expect(Self.pictures([7, 7, 7, 7, 7], &late) == [])
        #expect(Self.pictures(good, &late) == rawPictures)
        // In frames of one byte, after an empty first frame.
        var slow = VideoStream(VideoFormat())
        _ = slow.receive(ByteBuffer(), beginsMessage: true)
        let slowly = good.flatMap {
            slow.receive(ByteBuffer(bytes: [$0]), beginsMessage: false).map(\.annexB.array)
        }
        #expect(slowly == rawPictures)
    }

    @Test("lengths that lead nowhere cost one message")
    func resynchronised() {
        var stream = Self.stream()
        let good = Packets.framed(
            Packets.packet(
                9, marked: true, Packets.aggregate(Units.sequence, Units.picture, Units.key())))
        #expect(Self.pictures([0, 3, 1, 2, 3] + good, &stream).isEmpty)
        let rest = stream.receive(ByteBuffer(bytes: good), beginsMessage: false)
        #expect(rest.isEmpty)
        #expect(Self.pictures(good, &stream).count == 1)
    }
}
