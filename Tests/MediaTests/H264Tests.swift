import Media
import NIOCore
import Testing

/// A small handmade stream: about 8 bytes for each unit, of the kinds that matter.
enum Units {
    static let delimiter: [UInt8] = [0x09, 0x10]
    /// Baseline, level 1.3; ID 0 is a single 1 bit.
    static let sequence: [UInt8] = [0x67, 0x42, 0xC0, 0x0D, 0x9A, 0x74, 0x0A, 0x0F]
    static let picture: [UInt8] = [0x68, 0xCE, 0x06, 0xE2]
    static let note: [UInt8] = [0x06, 0x05, 0x01, 0x41, 0x80]
    /// The first slice of a picture: `first_mb_in_slice` is 0.
    static func key(_ mark: UInt8 = 0x11) -> [UInt8] { [0x65, 0x88, 0x84, mark] }
    static func other(_ mark: UInt8 = 0x22) -> [UInt8] { [0x41, 0x9A, 0x02, mark] }
    /// Another slice of the same picture.
    static func more(_ mark: UInt8 = 0x33) -> [UInt8] { [0x41, 0x42, 0x02, mark] }

    static func annexB(_ units: [[UInt8]], code: [UInt8] = [0, 0, 0, 1]) -> [UInt8] {
        units.flatMap { code + $0 }
    }

    /// The units between start codes of any length (H.264, annex B), found by looking at every byte.
    static func split(_ bytes: [UInt8]) -> [[UInt8]] {
        var units: [[UInt8]] = []
        var zeros = 0
        for byte in bytes {
            if byte == 1, zeros >= 2 {
                units.append([])
            } else if let last = units.indices.last {
                units[last].append(byte)
            }
            zeros = byte == 0 ? zeros + 1 : 0
        }
        return units.map { unit in Array(unit.reversed().drop { $0 == 0 }.reversed()) }
    }
}

extension ByteBuffer {
    var array: [UInt8] { Array(readableBytesView) }
}

@Suite("H.264 byte streams") struct H264Tests {
    private static func units(_ bytes: [UInt8], pieces: Int) -> [[UInt8]] {
        var splitter = AnnexBSplitter()
        var units: [[UInt8]] = []
        for start in stride(from: 0, to: bytes.count, by: pieces) {
            splitter.append(ByteBuffer(bytes: bytes[start..<min(start + pieces, bytes.count)]))
            while let unit = splitter.next() { units.append(unit.bytes.array) }
        }
        if let unit = splitter.finish() { units.append(unit.bytes.array) }
        return units
    }

    @Test("are cut into the same units however they come", arguments: [1, 2, 3, 5, 7, 1000])
    func pieces(size: Int) {
        let units = [Units.sequence, Units.picture, Units.key(), Units.more(), Units.other()]
        #expect(Self.units(Units.annexB(units), pieces: size) == units)
        #expect(Self.units(Units.annexB(units, code: [0, 0, 1]), pieces: size) == units)
        // Zeros after a unit do not belong to it; bytes before the first start code are ignored.
        let padded = [0xAB] + Units.annexB(units, code: [0, 0, 0, 0, 0, 1]) + [0, 0]
        #expect(Self.units(padded, pieces: size) == units)
    }

    @Test("have start codes of three and of four bytes, and keep them")
    func codes() {
        var splitter = AnnexBSplitter()
        splitter.append(
            ByteBuffer(
                bytes: [0, 0, 0, 1] + Units.delimiter + [0, 0, 1] + Units.key() + [0, 0, 0, 1]))
        let found = [splitter.next(), splitter.next(), splitter.next()]
        #expect(found.map { $0?.startCodeBytes } == [4, 3, nil])
    }

    @Test("hold no unit without end")
    func bounded() {
        var splitter = AnnexBSplitter(maximumUnitBytes: 1000)
        splitter.append(ByteBuffer(bytes: [0, 0, 1, 0x65]))
        var given: [NALUnit] = []
        for _ in 0..<100 {
            splitter.append(ByteBuffer(repeating: 7, count: 100))
            if let unit = splitter.next() { given.append(unit) }
        }
        // Only enough of the unit to show that there was one, and of which type.
        #expect(given.map(\.isCut) == [true] && given.map(\.type) == [5])
        #expect(given.allSatisfy { $0.bytes.readableBytes < 100 })
        #expect(splitter.heldBytes < 1100)
        splitter.append(ByteBuffer(bytes: [0, 0, 1] + Units.other() + [0, 0, 1]))
        let unit = splitter.next()
        #expect(unit?.bytes.array == Units.other())
        #expect(splitter.oversizedUnits == 1)
    }

    @Test("begin with the first key picture and its parameter sets")
    func beginning() {
        var stream = VideoStream(VideoFormat())
        let before = Units.annexB([Units.other(1), Units.more(), Units.other(2)])
        let rest = Units.annexB([
            Units.delimiter, Units.sequence, Units.picture, Units.note, Units.key(), Units.more(),
            Units.delimiter, Units.other(3), Units.other(4),
        ])
        var pictures = stream.receive(ByteBuffer(bytes: before), beginsMessage: true)
        pictures += stream.receive(ByteBuffer(bytes: rest), beginsMessage: true)
        pictures += stream.finish()
        // Exactly the bytes from there on.
        #expect(pictures.flatMap(\.annexB.array) == rest)
        #expect(pictures.map(\.isKey) == [true, false, false])
        #expect(stream.picturesBefore == 2)
        #expect(stream.pictures == 3 && stream.keyPictures == 1)
    }

    @Test("get the parameter sets in front of a later key picture that has none")
    func later() {
        var stream = VideoStream(VideoFormat())
        let start = Units.annexB([
            Units.sequence, Units.picture, Units.key(1), Units.other(1), Units.other(9),
        ])
        var bytes = stream.receive(ByteBuffer(bytes: start), beginsMessage: true)
            .flatMap(\.annexB.array)
        stream.skip()
        let next = [Units.other(2), Units.delimiter, Units.key(2), Units.other(3)]
        bytes += stream.receive(ByteBuffer(bytes: Units.annexB(next)), beginsMessage: true)
            .flatMap(\.annexB.array)
        bytes += stream.finish().flatMap(\.annexB.array)
        // The pictures without an end are left out, and so are those that refer to them.
        #expect(
            bytes
                == Units.annexB([
                    Units.sequence, Units.picture, Units.key(1), Units.delimiter, Units.sequence,
                    Units.picture, Units.key(2), Units.other(3),
                ]))
        #expect(stream.picturesLost == 1)
    }

    @Test("without a key picture nothing can be shown")
    func noKey() {
        var stream = VideoStream(VideoFormat())
        let bytes = Units.annexB([Units.other(1), Units.other(2), Units.key(), Units.other(3)])
        // A key picture without parameter sets does not count as one.
        var pictures = stream.receive(ByteBuffer(bytes: bytes), beginsMessage: true)
        pictures += stream.finish()
        #expect(pictures.isEmpty)
        #expect(stream.picturesBefore == 4)
    }

    @Test("a picture of too many units is left out, and what refers to it")
    func manyUnits() {
        var stream = VideoStream(VideoFormat())
        let start = Units.annexB([Units.sequence, Units.picture, Units.key(1)])
        let flood = Units.annexB(
            [Units.other(9)]
                + Array(repeating: Units.more(), count: MediaLimits.maximumPictureUnits))
        let end = Units.annexB([Units.other(1), Units.key(2), Units.other(3)])
        var pictures: [Picture] = []
        for bytes in [start, flood, end] {
            pictures += stream.receive(ByteBuffer(bytes: bytes), beginsMessage: true)
        }
        pictures += stream.finish()
        #expect(pictures.map(\.isKey) == [true, true, false])
        #expect(stream.oversized == 1 && stream.picturesLost == 1)
    }

    @Test("a picture with a unit that is too long is left out, and what refers to it; others stay")
    func oversizedUnit() {
        var stream = VideoStream(VideoFormat())
        let long = [UInt8](repeating: 0x55, count: MediaLimits.maximumUnitBytes)
        let messages = [
            Units.annexB([Units.sequence, Units.picture, Units.key(1)]),
            // A slice of the picture after a whole one, which stays whole.
            Units.annexB([Units.other(9) + long]),
            // A slice in the middle of a key picture.
            Units.annexB([Units.other(1), Units.key(2), Units.more() + long]),
            [0x55],
            Units.annexB([Units.more(), Units.other(2), Units.other(3), Units.key(3)]),
            Units.annexB([Units.other(4)]),
        ]
        var pictures: [Picture] = []
        for bytes in messages {
            pictures += stream.receive(ByteBuffer(bytes: bytes), beginsMessage: true)
        }
        pictures += stream.finish()
        let sets = Units.annexB([Units.sequence, Units.picture])
        #expect(
            pictures.map(\.annexB.array) == [
                sets + Units.annexB([Units.key(1)]), sets + Units.annexB([Units.key(3)]),
                Units.annexB([Units.other(4)]),
            ])
        #expect(stream.oversized == 2 && stream.picturesLost == 3)
    }

    @Test("a unit that is kept does not keep what it was a slice of")
    func compact() {
        var stream = VideoStream(VideoFormat())
        // Each unit comes in a large message of which nothing else counts.
        let spare = [UInt8](repeating: 0, count: 100_000)
        var pictures: [Picture] = []
        for unit in [Units.sequence, Units.picture, Units.key(), Units.more(), Units.other()] {
            pictures += stream.receive(
                ByteBuffer(bytes: [0, 0, 0, 1] + unit + spare), beginsMessage: true)
        }
        pictures += stream.receive(
            ByteBuffer(bytes: Units.annexB([Units.delimiter])), beginsMessage: true)
        #expect(pictures.first?.units.count == 4)
        for unit in pictures.first?.units ?? [] { #expect(unit.bytes.storageCapacity < 1000) }
    }
}
