package import NIOCore

/// A coded picture with the units before it: an access unit (ITU-T H.264, 7.4.1.2).
package struct Picture: Hashable, Sendable {
    package private(set) var units: [NALUnit] = []
    package private(set) var hasSlice = false
    package private(set) var isKey = false
    /// Whether the picture's first slice is missing.
    package private(set) var isHeadless = false
    package private(set) var byteCount = 0
    /// The picture for a decoder that begins here, with all parameter sets; nil where none can begin.
    package var entry: ByteBuffer?

    package init() {}

    mutating func append(_ unit: NALUnit) {
        units.append(unit.compact)
        byteCount += unit.bytes.readableBytes + unit.startCodeBytes
        if unit.isSlice {
            if !hasSlice { isHeadless = !unit.isFirstSlice }
            hasSlice = true
        }
        if unit.isIDR { isKey = true }
    }

    /// Inserts units at the front, but after an access unit delimiter.
    mutating func insert(_ first: [NALUnit]) {
        let place = units.prefix(while: \.isDelimiter).count
        units.insert(contentsOf: first, at: place)
        for unit in first { byteCount += unit.bytes.readableBytes + unit.startCodeBytes }
    }

    /// The picture as an elementary stream, with start codes.
    package var annexB: ByteBuffer {
        var buffer = ByteBuffer()
        buffer.reserveCapacity(byteCount)
        for unit in units { unit.append(to: &buffer) }
        return buffer
    }
}

/// Assembles units into pictures. One that is too large is dropped and counted as a loss.
struct PictureAssembler: Sendable {
    private var picture = Picture()
    /// Whether the current picture has a slice, even if it is too large.
    private var hasSlice = false
    private var isTooLarge = false
    /// Pictures that were too large, or had a unit that was.
    private(set) var oversized = 0

    /// Bytes of the current picture.
    var heldBytes: Int { picture.byteCount }

    /// - Returns: The picture that ended because the unit begins another one.
    mutating func append(_ unit: NALUnit) -> Picture? {
        let ended = hasSlice && unit.beginsPicture ? end() : nil
        if unit.isSlice { hasSlice = true }
        guard !isTooLarge else { return ended }
        if unit.isCut || picture.units.count >= MediaLimits.maximumPictureUnits
            || picture.byteCount + unit.bytes.readableBytes > MediaLimits.maximumPictureBytes
        {
            isTooLarge = true
            oversized &+= 1
            picture = Picture()
        } else {
            picture.append(unit)
        }
        return ended
    }

    /// - Returns: The assembled picture; nil when there is no slice in it.
    mutating func end() -> Picture? {
        defer { discard() }
        return picture.hasSlice ? picture : nil
    }

    /// Drops the current picture, because something is missing in it.
    mutating func discard() { (picture, hasSlice, isTooLarge) = (Picture(), false, false) }
}
