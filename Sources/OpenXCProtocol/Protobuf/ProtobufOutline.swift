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
            guard isBytes else { return true }
            guard at > 0, at + 3 < value.count else { continue }
            // Of the message and of its part: between them are four bytes, and behind the part at most
            // eleven of a time.
            if (4...15).contains(Int(value[at - 1]) - Int(value[at + 3])) { return true }
        }
        return false
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
