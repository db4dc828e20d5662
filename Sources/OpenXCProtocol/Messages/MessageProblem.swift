/// Why bytes are not a message. One word for each kind, so that they can be counted.
package enum MessageProblem: String, Error, Hashable, Sendable, CaseIterable {
    /// No JSON, or no object.
    case notJSON
    /// JSON nested deeper than `JSONCursor.maximumDepth`.
    case tooDeep
    /// More bytes than a message may have.
    case tooLong
    /// No protobuf of the type it says it is.
    case notProtobuf
    /// A member of another kind than it must be, or with a word that is not in its list.
    case wrongKind
    /// A number that does not fit where it belongs, or no number at all (NaN, infinity).
    case outOfRange
    /// A text that should be hexadecimal digits in pairs.
    case notHex
    /// More bytes than the data of its kind may have.
    case tooMuchData
    /// Something that must be there is not.
    case missing
    /// The message says something that its new form cannot express.
    case cannotBeSaid
}
