/// Checks by tags and lengths whether bytes can be a protobuf message, which need not be complete. A false
/// length in garbage is thus detected by the first bytes that follow, without waiting for the rest. Of the
/// values, only texts and bytes are examined, where a false length could hide the beginnings of real
/// messages.
enum ProtobufOutline {
    /// - Parameters:
    ///   - bytes: The bytes of one message that have come so far, without the length before it.
    ///   - count: The length that the message claims.
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
        /// Fits so far; more has to come.
        case incomplete
        case broken
    }

    /// The message types that contain others.
    private enum Kind {
        case vehicleMessage, simpleMessage, diagnosticResponse, controlCommand
        case diagnosticControlCommand, modemConfigurationCommand, networkOperatorSettings
        case canMessage, diagnosticRequest
        /// A message of numbers and texts only.
        case flat

        /// The message type of a field; nil for text, bytes or an unknown field.
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

        /// Whether a field that is not a message holds arbitrary bytes rather than text.
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
            // Groups, which OpenXC does not use, and undefined wire types.
            default: throw .broken
            }
        }
    }

    /// Whether a message begins inside a text or bytes field: with its type and the tag of the matching part.
    /// No text has these three control characters in a row. Bytes may be anything, so there the lengths on
    /// both sides have to fit as well.
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

    /// Whether the lengths of a message and of its part, each of one or two bytes, are consistent. The
    /// message's length also counts the type, the tag and the second length, and at most eleven bytes of a
    /// time behind the part.
    ///
    /// - Parameter at: The start of the message, behind its length.
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

    /// Reads a varint.
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
