/// What an RPC may do wrong; found by `RPCValidator`. The raw values appear in JSON lines and are
/// stable.
public enum ValidationRule: String, Hashable, Sendable, CaseIterable {
    /// A mandatory parameter is not there.
    case missingMandatory = "missing_mandatory"
    /// The specification knows no such parameter.
    case unknownParameter = "unknown_parameter"
    case wrongType = "wrong_type"
    /// A number outside of its bounds.
    case outOfRange = "out_of_range"
    case tooLong = "too_long"
    case tooShort = "too_short"
    /// More elements in an array than allowed.
    case tooManyElements = "too_many_elements"
    case tooFewElements = "too_few_elements"
    /// A word that its enumeration does not have.
    case unknownValue = "unknown_value"
    /// Exists, but not in the version of the RPC specification that app and head unit agreed on.
    case newerThanNegotiated = "newer_than_negotiated"
    /// Existed, but no longer in the version they agreed on.
    case removed
    case deprecated
    /// The specification has no such request, response or notification.
    case unknownFunction = "unknown_function"
    /// The parameters are not a JSON object.
    case notAnObject = "not_an_object"
    /// `success` and `resultCode` of a response say the opposite of each other.
    case contradiction
}

extension ValidationRule {
    /// Whether a head unit refuses a request that breaks the rule, with INVALID_DATA.
    ///
    /// It tolerates the others, as sdl_core 8.2.0 does: parameters that it or the session's version
    /// does not know are left out, and so are unknown words where that is possible.
    public var isRefused: Bool {
        switch self {
        case .missingMandatory, .wrongType, .outOfRange, .tooLong, .tooShort, .tooManyElements,
            .tooFewElements, .notAnObject:
            true
        case .unknownParameter, .unknownValue, .newerThanNegotiated, .removed, .deprecated,
            .unknownFunction, .contradiction:
            false
        }
    }
}

/// How bad a problem is.
public enum ValidationSeverity: Int, Hashable, Sendable, Comparable {
    /// Worth knowing; nothing goes wrong today.
    case note
    /// The receiver ignores it, or puts up with it.
    case warning
    /// The receiver refuses the message, or does not do what its sender wants.
    case error

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    /// As JSON lines name it.
    public var name: String {
        switch self {
        case .note: "note"
        case .warning: "warning"
        case .error: "error"
        }
    }
}

/// One thing that is wrong with an RPC. All texts are printable and short.
public struct ValidationProblem: Hashable, Sendable {
    public var rule: ValidationRule
    public var severity: ValidationSeverity
    /// Where: "choiceSet[2].menuName"; empty when the function itself is concerned.
    public var path: String
    /// The name it is about, when that is not the parameter's: a word, or the function.
    public var subject: String?
    /// What stands there, as a piece of a sentence: "\"12\"", "501 characters", "an object".
    public var found: String
    /// What should: "an Integer from 0 to 100", "at most 500 characters", "RPC 6.0".
    public var expected: String
    /// A name of the specification that was probably meant.
    public var hint: String?
    /// Further elements of the same array with the same problem.
    public var repeats = 0

    public var isError: Bool { severity == .error }
}

extension ValidationProblem {
    /// The problem of a message that cannot even be read as an RPC; nil when its parameters are not
    /// the problem.
    public init?(_ error: RPCError) {
        guard case .notJSON(let reason) = error else { return nil }
        let found: String
        switch reason.reason {
        case .wrongKind(let kind): found = kind.inWords
        case .truncated: found = "text that ends too soon, after \(reason.offset) bytes"
        case .unexpected, .tooDeep: found = "text with \(reason)"
        }
        self.init(
            rule: .notAnObject, severity: .error, path: "", found: found,
            expected: "a JSON object")
    }
}

extension ValidationProblem: CustomStringConvertible {
    /// One sentence without a full stop.
    public var description: String {
        switch repeats {
        case 0: sentence
        case 1: sentence + " (and in one more element)"
        default: sentence + " (and in \(repeats) more elements)"
        }
    }

    private var sentence: String {
        switch rule {
        case .missingMandatory: "mandatory parameter \(path) is missing"
        case .unknownParameter: "unknown parameter \(path)" + suggestion
        case .unknownValue:
            "unknown value \(found) of \(path)"
                + (hint == nil ? ", expected \(expected)" : suggestion)
        case .wrongType, .outOfRange: "\(path) is \(found), expected \(expected)"
        case .tooLong, .tooShort, .tooManyElements, .tooFewElements:
            "\(path) has \(found), expected \(expected)"
        case .newerThanNegotiated: "\(what) needs \(expected), this session speaks \(found)"
        case .removed: "\(what) was removed with \(expected), this session speaks \(found)"
        case .deprecated: "\(what) is deprecated" + (expected.isEmpty ? "" : " since \(expected)")
        case .unknownFunction: "\(what) is \(found)" + suggestion
        case .notAnObject: "parameters are \(found), expected \(expected)"
        case .contradiction: "\(path) is \(found), expected \(expected)"
        }
    }

    private var what: String {
        guard let subject else { return path }
        return path.isEmpty ? subject : "value \(subject) of \(path)"
    }

    private var suggestion: String {
        hint.map { ", did you mean \($0)?" } ?? ""
    }
}

extension JSONKind {
    /// What sentences call a value of this kind.
    var inWords: String {
        switch self {
        case .object: "an object"
        case .array: "an array"
        case .string: "a string"
        case .number: "a number"
        case .bool: "a bool"
        case .null: "null"
        }
    }
}
