import SDLProtocol

/// A JSON value of the simulator, written as a Swift literal and read by key; objects keep the order of their
/// members. Not SDLProtocol's `RPCValue`, which keeps numbers as the text that was typed: the simulator calculates
/// with numbers.
enum JSON: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([Member])

    struct Member: Hashable, Sendable {
        var key: String
        var value: JSON
    }

    /// A member of an object; nil when there is none, or for other values.
    subscript(key: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.key == key }?.value
    }

    var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    var integer: Int64? {
        if case .integer(let value) = self { value } else { nil }
    }

    var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    var array: [JSON]? {
        if case .array(let values) = self { values } else { nil }
    }

    var members: [Member] {
        if case .object(let members) = self { members } else { [] }
    }

    /// This object with the members of another after its own.
    func merging(_ other: JSON) -> JSON { .object(members + other.members) }
}

extension JSON: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(integerLiteral value: Int64) { self = .integer(value) }
    init(floatLiteral value: Double) { self = .number(value) }
    init(stringLiteral value: String) { self = .string(value) }
    init(arrayLiteral elements: JSON...) { self = .array(elements) }
    init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(elements.map { Member(key: $0.0, value: $0.1) })
    }
}

// MARK: - Writing

extension JSON {
    /// The value as it is sent, without white space.
    var text: String {
        var text: [UInt8] = []
        write(to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    private func write(to text: inout [UInt8]) {
        switch self {
        case .null: text += "null".utf8
        case .bool(let value): text += (value ? "true" : "false").utf8
        case .integer(let value): text += "\(value)".utf8
        case .number(let value): text += (value.isFinite ? "\(value)" : "null").utf8
        case .string(let value): PrintableText.appendJSONString(value, to: &text)
        case .array(let values):
            text += "[".utf8
            for (index, value) in values.enumerated() {
                if index > 0 { text += ",".utf8 }
                value.write(to: &text)
            }
            text += "]".utf8
        case .object(let members):
            text += "{".utf8
            for (index, member) in members.enumerated() {
                if index > 0 { text += ",".utf8 }
                PrintableText.appendJSONString(member.key, to: &text)
                text += ":".utf8
                member.value.write(to: &text)
            }
            text += "}".utf8
        }
    }
}
