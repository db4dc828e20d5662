package import NIOCore

/// Cuts an H.264 byte stream into its access units without changing a byte: joined again, they are the stream
/// (ITU-T H.264, 7.4.1.2.3 and annex B).
///
/// Holds one unit of at most `maximumUnitBytes`; a longer one is returned in pieces.
package struct AccessUnitCutter: Sendable {
    /// A piece of the stream.
    package struct Piece: Hashable, Sendable {
        package var bytes: ByteBuffer
        /// Whether more of the access unit follows.
        package var isPart: Bool
    }

    private let maximumUnitBytes: Int
    private var buffer = ByteBuffer()
    /// All start codes before this offset in `buffer` have been found.
    private var searched = 0
    /// Whether a coded picture has begun in `buffer`, or in the piece before it.
    private var hasSlice = false

    package init(maximumUnitBytes: Int = MediaLimits.maximumUnitBytes) {
        self.maximumUnitBytes = maximumUnitBytes
    }

    package var heldBytes: Int { buffer.readableBytes }

    /// Whether the bytes can be the beginning of such a stream: zeros followed by a start code. Nil while
    /// there are too few to tell.
    package static func isStream(_ bytes: ByteBuffer) -> Bool? {
        let view = bytes.readableBytesView
        guard let code = view.firstIndex(where: { $0 != 0 }) else {
            return view.count > maximumLeadingZeros ? false : nil
        }
        return view[code] == 1 && view.distance(from: view.startIndex, to: code) >= 2
    }

    /// Encoders write at most three.
    private static let maximumLeadingZeros = 64

    package mutating func append(_ bytes: ByteBuffer) {
        buffer.discardReadAndSpareBytes()
        buffer.writeImmutableBuffer(bytes)
    }

    /// The next complete access unit; its end is known when the next one begins.
    package mutating func next() -> Piece? {
        while let code = nextStartCode() {
            // The first two bytes identify a unit.
            let start = buffer.readerIndex + code + 3
            guard let header = buffer.getSlice(at: start, length: 2), let unit = NALUnit(header)
            else { return limit() }
            searched = code + 3
            let beginsNext = hasSlice && unit.beginsPicture
            if beginsNext {
                // The zero of a longer start code is part of it.
                let hasZero =
                    code > 0
                    && buffer.getInteger(at: buffer.readerIndex + code - 1, as: UInt8.self) == 0
                return taken(hasZero ? code - 1 : code, isPart: false)
            }
            if unit.isSlice { hasSlice = true }
        }
        return limit()
    }

    /// The last access unit, at the end of the stream.
    package mutating func finish() -> Piece? {
        guard buffer.readableBytes > 0 else { return nil }
        return taken(buffer.readableBytes, isPart: false)
    }

    private mutating func limit() -> Piece? {
        guard buffer.readableBytes > maximumUnitBytes else { return nil }
        // A possible beginning of a start code stays in the buffer.
        return taken(min(maximumUnitBytes, max(1, searched)), isPart: true)
    }

    private mutating func taken(_ count: Int, isPart: Bool) -> Piece? {
        guard let bytes = buffer.readSlice(length: count) else { return nil }
        searched = max(0, searched - count)
        if !isPart {
            searched = 0
            hasSlice = false
        }
        return Piece(bytes: bytes, isPart: isPart)
    }

    /// The offset of the next 00 00 01, from the reader index.
    private mutating func nextStartCode() -> Int? {
        let start = searched
        let found = buffer.startCode(from: start)
        searched = found ?? max(start, buffer.readableBytes - 2)
        return found
    }
}
