import NIOCore

/// Overwrites strings of chosen names in control payloads in place: type, name, length, text (bsonspec.org).
/// Not a parser: strings in a document that no head unit can read are found as well.
enum ControlMask {
    /// Addresses in control payloads, which are overwritten only in an anonymised trace (SDL protocol spec,
    /// "Control frame payloads").
    static let addresses = ["tcpIpAddress"]

    /// The longest name that is compared.
    private static let maximumNameBytes = 64
    private static let stringType: UInt8 = 0x02

    /// - Parameters:
    ///   - names: In lower case.
    ///   - offset: The start of the payload, counted from the first readable byte.
    /// - Returns: Whether something was overwritten.
    static func cover(
        _ wire: inout ByteBuffer, from offset: Int, _ names: Set<[UInt8]>
    ) -> Bool {
        var hasCovered = false
        wire.withUnsafeMutableReadableBytes { bytes in
            var index = offset
            while index < bytes.count {
                defer { index += 1 }
                guard bytes[index] == stringType,
                    let text = text(of: names, in: UnsafeRawBufferPointer(bytes), at: index + 1)
                else { continue }
                for place in text { bytes[place] = UInt8(ascii: "x") }
                hasCovered = true
            }
        }
        return hasCovered
    }

    /// The range of the text of a string whose name begins at `start`; nil when it has another name, or a
    /// length that exceeds the payload.
    private static func text(
        of names: Set<[UInt8]>, in bytes: UnsafeRawBufferPointer, at start: Int
    ) -> Range<Int>? {
        let rest = bytes[min(start, bytes.count)...]
        guard let end = rest.prefix(maximumNameBytes + 1).firstIndex(of: 0),
            names.contains(bytes[start..<end].map(JSONMask.lowercased)), bytes.count - end > 4
        else { return nil }
        let length = (1...4).reversed().reduce(0) { $0 << 8 | Int(bytes[end + $1]) }
        let text = end + 5
        // The last byte of a text is its terminator.
        guard length > 1, length <= bytes.count - text else { return nil }
        return text..<text + length - 1
    }
}
