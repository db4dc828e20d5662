package import NIOCore

/// A coded picture with all that comes before it: an access unit (ITU-T H.264, 7.4.1.2).
package struct Picture: Hashable, Sendable {
    package private(set) var units: [NALUnit] = []
    package private(set) var hasSlice = false
    package private(set) var isKey = false
    /// Its first slice is not the one that a picture begins with, so that one is missing.
    package private(set) var isHeadless = false
    package private(set) var byteCount = 0
    /// As a decoder needs it that begins here, with all parameter sets; nil where none can begin.
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

    /// Puts units in front of all but an access unit delimiter, which stands first.
    mutating func insert(_ first: [NALUnit]) {
        let place = units.prefix(while: \.isDelimiter).count
        units.insert(contentsOf: first, at: place)
        for unit in first { byteCount += unit.bytes.readableBytes + unit.startCodeBytes }
    }

    /// As an elementary stream, with start codes.
    package var annexB: ByteBuffer {
        var buffer = ByteBuffer()
        buffer.reserveCapacity(byteCount)
        for unit in units { unit.append(to: &buffer) }
        return buffer
    }
}

/// Puts units together to pictures. One that is too large is left out, and counted as a loss.
struct PictureAssembler: Sendable {
    private var picture = Picture()
    /// Of the picture that units are put to, also when it is too large.
    private var hasSlice = false
    private var isTooLarge = false
    /// Pictures that were too large, or had a unit that was.
    private(set) var oversized = 0

    /// Bytes of the picture that is put together.
    var heldBytes: Int { picture.byteCount }

    /// - Returns: The picture that ended because another one begins with the unit.
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

    /// - Returns: What was put together; nil when there is no picture in it.
    mutating func end() -> Picture? {
        defer { discard() }
        return picture.hasSlice ? picture : nil
    }

    /// Something is missing, so what was begun is worth nothing.
    mutating func discard() { (picture, hasSlice, isTooLarge) = (Picture(), false, false) }
}
