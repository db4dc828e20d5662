import Media
import NIOCore
import Testing

/// H.264 streams cut for sending.
@Suite("H.264 cut into access units") struct AccessUnitTests {
    private static let sets: [UInt8] = [
        0, 0, 0, 1, 0x67, 0x42, 0xC0, 0x0D, 0x9A, 0, 0, 0, 1, 0x68, 0xCE, 0x06,
    ]
    private static let key: [UInt8] = [0, 0, 0, 1, 0x65, 0x88, 0x84]
    /// The second slice of a picture: its first macroblock is not 0.
    private static let second: [UInt8] = [0, 0, 1, 0x65, 0x44, 0x21]
    private static let inter: [UInt8] = [0, 0, 1, 0x41, 0x9A, 0x02]
    private static let delimiter: [UInt8] = [0, 0, 0, 1, 0x09, 0x30]

    /// - Parameter size: The number of bytes that arrive at a time.
    private static func cut(
        _ bytes: [UInt8], size: Int = .max, maximum: Int = MediaLimits.maximumUnitBytes
    ) -> [AccessUnitCutter.Piece] {
        var cutter = AccessUnitCutter(maximumUnitBytes: maximum)
        var pieces: [AccessUnitCutter.Piece] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            cutter.append(ByteBuffer(bytes: rest.prefix(size)))
            rest = rest.dropFirst(size)
            while let piece = cutter.next() { pieces.append(piece) }
        }
        while let piece = cutter.finish() { pieces.append(piece) }
        return pieces
    }

    @Test(
        "a picture begins at its delimiter or parameter sets, and has all of its slices",
        arguments: [1, 2, 3, 7, 100])
    func units(size: Int) {
        let units = [
            Self.sets + Self.key + Self.second, Self.inter, Self.delimiter + Self.inter,
            Self.delimiter + Self.sets + Self.key,
        ]
        let pieces = Self.cut(units.flatMap { $0 }, size: size)
        #expect(pieces.map { Array($0.bytes.readableBytesView) } == units)
        #expect(pieces.allSatisfy { !$0.isPart })
    }

    @Test("joined again it is the stream, byte for byte, whatever is in it")
    func whole() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            // Mostly the bytes that make up start codes.
            let bytes = (0..<300).map { _ -> UInt8 in
                [0, 0, 0, 1, 0x65, 0x41, 0x67, 0x88, 0x09, .random(in: 0...255, using: &generator)]
                    .randomElement(using: &generator) ?? 0
            }
            let size = Int.random(in: 1...50, using: &generator)
            let pieces = Self.cut(bytes, size: size, maximum: 64)
            #expect(pieces.flatMap { Array($0.bytes.readableBytesView) } == bytes, "\(bytes)")
        }
    }

    @Test("a unit that is too long is given in pieces, and nothing more than that is held")
    func long() {
        let bytes = Self.key + [UInt8](repeating: 7, count: 1000) + Self.inter
        let pieces = Self.cut(bytes, size: 10, maximum: 100)
        #expect(pieces.flatMap { Array($0.bytes.readableBytesView) } == bytes)
        #expect(pieces.allSatisfy { $0.bytes.readableBytes <= 110 })
        #expect(pieces.filter { !$0.isPart }.count == 2)
    }

    @Test("what is no byte stream is known by its first bytes")
    func beginning() {
        func isStream(_ bytes: [UInt8]) -> Bool? {
            AccessUnitCutter.isStream(ByteBuffer(bytes: bytes))
        }
        #expect(isStream(Self.key) == true)
        #expect(isStream(Self.second) == true)
        #expect(isStream([0, 0]) == nil)
        #expect(isStream([]) == nil)
        // An MP4 file, whose first box has a size.
        #expect(isStream([0, 0, 0, 0x20] + Array("ftypisom".utf8)) == false)
        #expect(isStream(Array("RIFF".utf8)) == false)
        #expect(isStream([0, 1]) == false)
        #expect(isStream([UInt8](repeating: 0, count: 100)) == false)
    }

    @Test("packets are read back as the pictures that they were made of, fragments included")
    func packets() {
        var packetiser = RTPPacketiser(source: 7, sequence: 65_534)
        var format = VideoFormat()
        format.transport = "RTP"
        format.codec = "H264"
        var stream = VideoStream(format)
        let large = Self.sets + Self.key + [UInt8](repeating: 7, count: 200_000)
        var pictures: [[UInt8]] = []
        for (index, unit) in [large, Self.inter, Self.inter].enumerated() {
            let packets = packetiser.packets(
                of: ByteBuffer(bytes: unit), at: Int64(index) * 33_333_333)
            let read = stream.receive(packets, beginsMessage: true)
            pictures += read.map { Array($0.annexB.readableBytesView) }
        }
        pictures += stream.finish().map { Array($0.annexB.readableBytesView) }
        // Packets do not preserve the length of start codes.
        #expect(pictures == [large, [0] + Self.inter, [0] + Self.inter])
        #expect(stream.faults == 0)
    }
}
