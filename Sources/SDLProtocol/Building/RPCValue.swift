// Parameters of an RPC that is being put together: a JSON value as a tree, which `RPCBuilder` fills and
// writes. Parameters from a peer stay a `JSONObject`.

import NIOCore

/// A JSON value.
public indirect enum RPCValue: Hashable, Sendable {
    public struct Member: Hashable, Sendable {
        public var name: String
        public var value: RPCValue

        public init(_ name: String, _ value: RPCValue) {
            self.name = name
            self.value = value
        }
    }

    /// In the order in which they are written.
    case object([Member])
    case array([RPCValue])
    case string(String)
    /// As it is written; a number by JSON's grammar.
    case number(String)
    case bool(Bool)
    case null

    public static let emptyObject = RPCValue.object([])
}

// MARK: - Reading

extension RPCValue {
    /// - Returns: Nil when the object, or one in it, has so many members or elements that some are not found.
    public init?(_ object: JSONObject) {
        guard object.members.count < JSONObject.maximumMembers else { return nil }
        var members: [Member] = []
        for member in object.members {
            guard let name = object.string(member.key),
                let value = RPCValue(member.value, of: object)
            else { return nil }
            members.append(Member(name, value))
        }
        self = .object(members)
    }

    private init?(_ token: JSONToken, of container: some JSONContainer) {
        switch token.kind {
        case .object:
            guard let value = container.object(token).flatMap({ RPCValue($0) }) else { return nil }
            self = value
        case .array:
            guard let array = container.array(token),
                array.elements.count < JSONArray.maximumElements
            else { return nil }
            var elements: [RPCValue] = []
            for element in array.elements {
                guard let value = RPCValue(element, of: array) else { return nil }
                elements.append(value)
            }
            self = .array(elements)
        case .string: self = .string(container.string(token) ?? "")
        case .number:
            self = .number(container.bytes.text(token.range) ?? "0")
        case .bool: self = .bool(token.range.count == 4)
        case .null: self = .null
        }
    }

    /// Any JSON value in a text.
    public init(json text: String) throws(JSONError) {
        // One scanner for all kinds: the value as the only member of an object.
        let prefix = #"{"v":"#
        let object: JSONObject
        do {
            object = try JSONObject(ByteBuffer(string: prefix + text + "}"))
        } catch {
            throw JSONError(
                reason: error.offset >= prefix.utf8.count + text.utf8.count
                    ? .truncated : error.reason,
                offset: max(0, error.offset - prefix.utf8.count))
        }
        guard object.members.count == 1, let token = object.value("v"),
            let value = RPCValue(token, of: object)
        else { throw JSONError(reason: .unexpected(UInt8(ascii: ",")), offset: 0) }
        self = value
    }

    public func member(_ name: String) -> RPCValue? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name == name }?.value
    }
}

// MARK: - Writing

extension RPCValue {
    /// The value in one line; invisible characters in strings are escaped.
    public var json: String {
        var text: [UInt8] = []
        write(to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    private func write(to text: inout [UInt8]) {
        switch self {
        case .object(let members):
            text.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                PrintableText.appendJSONString(member.name, to: &text)
                text.append(UInt8(ascii: ":"))
                member.value.write(to: &text)
            }
            text.append(UInt8(ascii: "}"))
        case .array(let elements):
            text.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                element.write(to: &text)
            }
            text.append(UInt8(ascii: "]"))
        case .string(let string): PrintableText.appendJSONString(string, to: &text)
        case .number(let number): text.append(contentsOf: number.utf8)
        case .bool(let bool): text.append(contentsOf: (bool ? "true" : "false").utf8)
        case .null: text.append(contentsOf: "null".utf8)
        }
    }
}

// MARK: - Filling

extension RPCValue {
    /// Puts a value at a path, creating the objects and arrays on the way.
    ///
    /// - Returns: False when something else is on the way, or an array has too few elements before the index.
    mutating func set(_ path: ArraySlice<RPCPath.Step>, to value: RPCValue) -> Bool {
        guard let step = path.first else {
            self = value
            return true
        }
        let rest = path.dropFirst()
        switch (step, self) {
        case (.name(let name), .object(var members)):
            let index = members.lastIndex { $0.name == name } ?? members.count
            if index == members.count { members.append(Member(name, Self.empty(for: rest))) }
            guard members[index].value.set(rest, to: value) else { return false }
            self = .object(members)
        case (.index(let index), .array(var elements)) where index <= elements.count:
            if index == elements.count { elements.append(Self.empty(for: rest)) }
            guard elements[index].set(rest, to: value) else { return false }
            self = .array(elements)
        default: return false
        }
        return true
    }

    private static func empty(for path: ArraySlice<RPCPath.Step>) -> RPCValue {
        switch path.first {
        case .name: .emptyObject
        case .index: .array([])
        case nil: .null
        }
    }
}
