/// Whether bytes can be a message in protobuf, by its tags and lengths alone: no value is looked at, and the
/// message need not be complete. So a length that garbage has claimed is found out by the first bytes of
/// what really follows, and nobody waits for the rest.
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
        /// Nothing but values.
        case flat

        /// The message in a field; nil where text, bytes or something unknown is.
        func part(_ field: UInt64) -> Kind? {
            switch (self, field) {
            case (.vehicleMessage, 2), (.vehicleMessage, 6): .flat
            case (.vehicleMessage, 3): .simpleMessage
            case (.vehicleMessage, 4): .diagnosticResponse
            case (.vehicleMessage, 5): .controlCommand
            case (.simpleMessage, 2...3), (.diagnosticResponse, 8): .flat
            case (.controlCommand, 2): .diagnosticControlCommand
            case (.controlCommand, 7): .modemConfigurationCommand
            case (.controlCommand, 3...8): .flat
            case (.diagnosticControlCommand, 1): .flat
            case (.modemConfigurationCommand, 1): .networkOperatorSettings
            case (.modemConfigurationCommand, 2...3), (.networkOperatorSettings, 3): .flat
            default: nil
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
