/// How a stream of messages is written: the format, and the separator.
package enum MessageFraming: String, Hashable, Sendable, CaseIterable {
    /// JSON, each object followed by a NUL: what clients expect on a link.
    case json
    /// JSON, each object followed by a line feed: for people and line tools, and in trace files.
    case lines
    /// Protobuf, each message preceded by its length.
    case protobuf

    package var format: PayloadFormat {
        self == .protobuf ? .protobuf : .json
    }

    /// Appends `message` and the separator from the next.
    ///
    /// - Throws: `cannotBeSaid` when protobuf cannot express it; nothing is appended then.
    package func append(
        _ message: VehicleMessage, to bytes: inout [UInt8]
    ) throws(MessageProblem) {
        switch self {
        case .json:
            message.appendJSON(to: &bytes)
            bytes.append(0)
        case .lines:
            message.appendJSON(to: &bytes)
            bytes.append(UInt8(ascii: "\n"))
        case .protobuf: try message.appendProtobuf(to: &bytes)
        }
    }
}
