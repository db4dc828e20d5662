package import NIOCore

/// Splits a byte stream with start codes into units, in whatever pieces the bytes come (ITU-T H.264, annex
/// B).
///
/// Holds one unit of at most `maximumUnitBytes`. Of a longer one, only the first bytes are returned, as soon
/// as its length is known to be too large, and it is counted.
package struct AnnexBSplitter: Sendable {
    /// Bytes before the first start code.
    package private(set) var skippedBytes = 0
    /// Units that were too long.
    package private(set) var oversizedUnits = 0

    private let maximumUnitBytes: Int
    private var buffer = ByteBuffer()
    /// No start code begins before this offset in `buffer`.
    private var searched = 0
    /// The length of the start code before `buffer`; nil before the first one.
    private var startCodeBytes: Int?

    package init(maximumUnitBytes: Int = MediaLimits.maximumUnitBytes) {
        self.maximumUnitBytes = maximumUnitBytes
    }

    /// Bytes of the incomplete unit.
    package var heldBytes: Int { buffer.readableBytes }

    package mutating func append(_ bytes: ByteBuffer) {
        buffer.discardReadAndSpareBytes()
        buffer.writeImmutableBuffer(bytes)
    }

    /// The next complete unit; its end is known when the next one begins. Also returns a unit that is too
    /// long, but only its beginning.
    package mutating func next() -> NALUnit? {
        while let code = nextStartCode() {
            let end = endOfUnit(before: code)
            let unit = taken(end)
            // A zero before the code is part of it, at least the first of several.
            startCodeBytes = code > end ? 4 : 3
            buffer.moveReaderIndex(forwardBy: min(code + 3, buffer.readableBytes))
            searched = 0
            if let unit { return unit }
        }
        return buffer.readableBytes > maximumUnitBytes ? giveUp() : nil
    }

    /// The last unit, at the end of the stream.
    package mutating func finish() -> NALUnit? {
        defer { discard() }
        return taken(endOfUnit(before: buffer.readableBytes))
    }

    /// Drops the unit begun, because bytes are missing here.
    package mutating func discard() {
        (buffer, searched, startCodeBytes) = (ByteBuffer(), 0, nil)
    }

    private mutating func taken(_ end: Int) -> NALUnit? {
        let isCut = end > maximumUnitBytes
        guard let startCodeBytes, end > 0,
            let bytes = buffer.getSlice(
                at: buffer.readerIndex, length: isCut ? min(end, Self.cutBytes) : end)
        else { return nil }
        if isCut { oversizedUnits &+= 1 }
        return NALUnit(bytes, startCodeBytes: startCodeBytes, isCut: isCut)
    }

    /// Bytes returned of a unit that is too long: enough to identify it.
    private static let cutBytes = 16

    /// The offset of the next 00 00 01, from the reader index.
    private mutating func nextStartCode() -> Int? {
        let found = buffer.startCode(from: searched)
        if found == nil { searched = max(0, buffer.readableBytes - 2) }
        if found != nil, startCodeBytes == nil { skippedBytes &+= endOfUnit(before: found ?? 0) }
        return found
    }

    /// Zeros after a unit belong to no unit.
    private func endOfUnit(before end: Int) -> Int {
        var end = end
        while end > 0,
            buffer.getInteger(at: buffer.readerIndex + end - 1, as: UInt8.self) == 0
        { end -= 1 }
        return end
    }

    /// - Returns: The beginning of the dropped unit.
    private mutating func giveUp() -> NALUnit? {
        let unit = taken(buffer.readableBytes)
        if startCodeBytes == nil { skippedBytes &+= buffer.readableBytes }
        startCodeBytes = nil
        let rest = min(2, buffer.readableBytes)
        buffer.moveReaderIndex(forwardBy: buffer.readableBytes - rest)
        searched = 0
        return unit
    }
}
