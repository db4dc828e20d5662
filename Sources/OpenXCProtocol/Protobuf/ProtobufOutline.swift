/// Whether bytes can be a message in protobuf, by its tags and lengths: the message need not be complete. So
/// a length that garbage has claimed is found out by the first bytes of what really follows, and nobody waits
/// for the rest. Of the values, only texts and bytes are looked at, where a claimed length could hide the
/// beginnings of real messages.
enum ProtobufOutline {
    /// - Parameters:
    ///   - bytes: Of one message, without the length before it; as many as have come.
    ///   - count: Bytes the message claims to have.
    static func fits(_ bytes: Span<UInt8>, count: Int) -> Bool {
        var at = 0
        do throws(Stop) {
            try walk(.vehicleMessage, bytes, &at, until: count)
        } catch {
            return error == .incomplete
        }
        return true
    }

    private enum Stop: Error {
        /// So far it fits; more has to come.
        case incomplete
        case broken
    }

    /// The messages in which others lie.
    private enum Kind {
        case vehicleMessage, simpleMessage, diagnosticResponse, controlCommand
        case diagnosticControlCommand, modemConfigurationCommand, networkOperatorSettings
        case canMessage, diagnosticRequest
        /// Nothing but numbers and texts.
        case flat

        /// The message in a field; nil where text, bytes or something unknown is.
        func part(_ field: UInt64) -> Kind? {
            switch (self, field) {
            case (.vehicleMessage, 2): .canMessage
            case (.vehicleMessage, 6): .flat
            case (.vehicleMessage, 3): .simpleMessage
            case (.vehicleMessage, 4): .diagnosticResponse
            case (.vehicleMessage, 5): .controlCommand
            case (.simpleMessage, 2...3), (.diagnosticResponse, 8): .flat
            case (.controlCommand, 2): .diagnosticControlCommand
            case (.controlCommand, 7): .modemConfigurationCommand
            case (.controlCommand, 3...8): .flat
            case (.diagnosticControlCommand, 1): .diagnosticRequest
            case (.modemConfigurationCommand, 1): .networkOperatorSettings
            case (.modemConfigurationCommand, 2...3), (.networkOperatorSettings, 3): .flat
            default: nil
            }
        }

        /// Whether a field that is no message holds bytes, which may be anything, and not text.
        func isBytes(_ field: UInt64) -> Bool {
            switch (self, field) {
            case (.canMessage, 3), (.diagnosticResponse, 7), (.diagnosticRequest, 5): true
            default: false
            }
        }
    }

    private static func walk(
        _ kind: Kind, _ bytes: Span<UInt8>, _ at: inout Int, until end: Int
    ) throws(Stop) {
        while at < end {
            let tag = try number(bytes, &at, until: end)
            guard tag >> 3 > 0 else { throw .broken }
            switch tag & 7 {
            case 0: _ = try number(bytes, &at, until: end)
            case 1: try skip(8, bytes, &at, until: end)
            case 2:
                let count = try number(bytes, &at, until: end)
                guard let part = kind.part(tag >> 3) else {
                    guard count <= UInt64(end - at) else { throw .broken }
                    let value = bytes.extracting(at..<min(at + Int(count), bytes.count))
                    guard !holdsBeginning(value, isBytes: kind.isBytes(tag >> 3)) else {
                        throw .broken
                    }
                    try skip(count, bytes, &at, until: end)
                    continue
                }
                guard count <= UInt64(end - at) else { throw .broken }
                try walk(part, bytes, &at, until: at + Int(count))
            case 5: try skip(4, bytes, &at, until: end)
            // Groups, which OpenXC has none of, and what is not defined.
            default: throw .broken
            }
        }
    }

    /// Whether a message begins in a text or in bytes: with its type, and the tag of the part that goes with
    /// it. No text has these three control characters in a row. In bytes, which may be anything, the lengths
    /// on both sides have to fit as well.
    private static func holdsBeginning(_ value: Span<UInt8>, isBytes: Bool) -> Bool {
        var at = 0
        while at + 2 < value.count {
            defer { at += 1 }
            let type = value[at + 1]
            guard value[at] == 0x08, (1...6).contains(type), value[at + 2] == (type + 1) << 3 | 2
            else { continue }
            if !isBytes || lengthsFit(value, at) { return true }
        }
        return false
    }

    /// Whether the lengths of a message and of its part, each of one or two bytes, go together. Between what they
    /// count are type, tag and the second length, and behind the part at most eleven bytes of a time.
    ///
    /// - Parameter at: Where the message begins, behind its length.
    private static func lengthsFit(_ value: Span<UInt8>, _ at: Int) -> Bool {
        guard at > 0, at + 3 < value.count else { return false }
        var (part, before) = (Int(value[at + 3]), 4)
        if part >= 0x80 {
            guard at + 4 < value.count, value[at + 4] < 0x80 else { return false }
            (part, before) = (part & 0x7F | Int(value[at + 4]) << 7, 5)
        }
        let surplus = before...before + 11
        let last = Int(value[at - 1])
        if last < 0x80, surplus.contains(last - part) { return true }
        guard at > 1, last < 0x80, value[at - 2] >= 0x80 else { return false }
        return surplus.contains((Int(value[at - 2] & 0x7F) | last << 7) - part)
    }

    private static func skip(
        _ count: UInt64, _ bytes: Span<UInt8>, _ at: inout Int, until end: Int
    ) throws(Stop) {
        guard count <= UInt64(end - at) else { throw .broken }
        at += Int(count)
        guard at <= bytes.count else { throw .incomplete }
    }

    /// A varint.
    private static func number(
        _ bytes: Span<UInt8>, _ at: inout Int, until end: Int
    ) throws(Stop) -> UInt64 {
        var value: UInt64 = 0
        for shift in stride(from: 0, to: 70, by: 7) {
            guard at < end else { throw .broken }
            guard at < bytes.count else { throw .incomplete }
            value |= UInt64(bytes[at] & 0x7F) << UInt64(shift)
            at += 1
            if bytes[at - 1] < 0x80 { return value }
        }
        throw .broken
    }
}
