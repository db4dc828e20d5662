/// Why bytes are not a message. One word for each kind, so that they can be counted.
package enum MessageProblem: String, Error, Hashable, Sendable, CaseIterable {
    /// Not JSON, or not an object.
    case notJSON
    /// JSON nested deeper than `JSONCursor.maximumDepth`.
    case tooDeep
    /// More bytes than a message may have.
    case tooLong
    /// Not protobuf of the type that it claims to be.
    case notProtobuf
    /// A member of the wrong kind, or with a word that is not in its list.
    case wrongKind
    /// A number out of the range of its member, or not a finite number (NaN, infinity).
    case outOfRange
    /// A text that should be hexadecimal digits in pairs.
    case notHex
    /// More bytes than the data of its kind may have.
    case tooMuchData
    /// A required member is missing.
    case missing
    /// The new form cannot express the message.
    case cannotBeSaid
}
