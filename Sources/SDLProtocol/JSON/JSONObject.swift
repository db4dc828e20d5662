public import NIOCore

/// A JSON object kept as the bytes it came as: checked as a whole, and indexed by its members; values
/// are read when asked for. `RPCMessage` holds one for the parameters; decoders, log lines and facts
/// read from it.
public struct JSONObject: JSONContainer, Hashable, Sendable {
    /// The object's text, whitespace included.
    public let bytes: ByteBuffer
    /// In the order they travel, at most `maximumMembers`.
    public private(set) var members: [Member] = []

    public struct Member: Hashable, Sendable {
        public var key: JSONToken
        public var value: JSONToken
    }

    /// Members beyond these are not found: the RPC with the most members, the response to
    /// GetVehicleData, has 39.
    public static let maximumMembers = 1024

    /// An RPC without parameters.
    public static let empty = JSONObject(empty: ())

    private init(empty: Void) {
        bytes = ByteBuffer(string: "{}")
    }

    /// Checks and indexes `bytes`; whitespace around the object is fine.
    public init(_ bytes: ByteBuffer) throws(JSONError) {
        self.bytes = bytes
        try index(bytes.readableBytesUInt8Span)
    }

    /// The same object in storage of its own, for objects that are kept for long: a slice keeps the
    /// whole buffer alive that it was cut from.
    public func detached() -> JSONObject {
        guard !members.isEmpty else { return .empty }
        return JSONObject(bytes: bytes.detached(), members: members)
    }

    private init(bytes: ByteBuffer, members: [Member]) {
        self.bytes = bytes
        self.members = members
    }

    private mutating func index(_ text: Span<UInt8>) throws(JSONError) {
        members.reserveCapacity(8)
        try JSONScanner.whole(text, .object) { (text, at) throws(JSONError) in
            let key = try JSONScanner.key(text, &at)
            let value = try JSONScanner.value(text, &at, depth: 1)
            if members.count < Self.maximumMembers {
                members.append(Member(key: key, value: value))
            }
        }
    }
}

// MARK: - Reading

extension JSONObject {
    /// Where the value of `key` lies. If a key occurs twice, the last one counts, as for all peers.
    public func value(_ key: String) -> JSONToken? {
        let text = bytes.readableBytesUInt8Span
        var index = members.count
        while index > 0 {
            index -= 1
            if Self.isKey(members[index].key, key, in: text) { return members[index].value }
        }
        return nil
    }

    /// Whether a key of this object reads `name`.
    public func isKey(_ token: JSONToken, _ name: String) -> Bool {
        Self.isKey(token, name, in: bytes.readableBytesUInt8Span)
    }

    @inline(__always)
    fileprivate static func isKey(_ token: JSONToken, _ name: String, in text: Span<UInt8>) -> Bool
    {
        token.hasEscapes
            ? JSONUnescaper.string(token, in: text) == name
            : equals(text, token.content, name.utf8.span)
    }

    @inline(__always)
    private static func equals(
        _ text: Span<UInt8>, _ range: Range<Int>, _ wanted: Span<UInt8>
    ) -> Bool {
        guard range.count == wanted.count else { return false }
        for offset in 0..<wanted.count
        where text[range.lowerBound + offset] != wanted[offset] {
            return false
        }
        return true
    }

    /// Nil when absent or not a string. Invalid UTF-8 and lone surrogates become U+FFFD.
    public func string(_ key: String) -> String? {
        value(key).flatMap(string)
    }

    public func bool(_ key: String) -> Bool? {
        guard let token = value(key), token.kind == .bool else { return nil }
        return token.range.count == 4
    }

    /// A number without fraction or exponent that fits.
    public func integer(_ key: String) -> Int? {
        value(key).flatMap(integer)
    }

    public func double(_ key: String) -> Double? {
        guard let token = value(key), token.kind == .number else { return nil }
        return bytes.text(token.range).flatMap { Double($0) }
    }

    /// Nil when absent or not an object; cannot be malformed, since all of this one was checked.
    public func object(_ key: String) -> JSONObject? {
        value(key).flatMap(object)
    }

    public func array(_ key: String) -> JSONArray? {
        value(key).flatMap(array)
    }
}

/// A JSON array, indexed by its elements, otherwise untouched.
public struct JSONArray: JSONContainer, Hashable, Sendable {
    public let bytes: ByteBuffer
    /// At most `maximumElements`.
    public private(set) var elements: [JSONToken] = []

    /// Elements beyond these are not found: the longest array of the RPC specification, the result
    /// of DiagnosticMessage, may have 65,535.
    public static let maximumElements = 65_535

    public init(_ bytes: ByteBuffer) throws(JSONError) {
        self.bytes = bytes
        try index(bytes.readableBytesUInt8Span)
    }

    private mutating func index(_ text: Span<UInt8>) throws(JSONError) {
        try JSONScanner.whole(text, .array) { (text, at) throws(JSONError) in
            let value = try JSONScanner.value(text, &at, depth: 1)
            if elements.count < Self.maximumElements { elements.append(value) }
        }
    }
}

/// What objects and arrays have in common: both hold tokens of their own bytes.
public protocol JSONContainer {
    var bytes: ByteBuffer { get }
}

extension JSONContainer {
    /// The text of a key or a string value, unescaped; nil for other kinds.
    public func string(_ token: JSONToken) -> String? {
        guard token.kind == .string else { return nil }
        guard token.hasEscapes else { return bytes.text(token.content) }
        return JSONUnescaper.string(token, in: bytes.readableBytesUInt8Span)
    }

    /// A number without fraction or exponent that fits.
    public func integer(_ token: JSONToken) -> Int? {
        guard token.kind == .number else { return nil }
        return bytes.text(token.range).flatMap { Int($0) }
    }

    /// Hands over the members of an object that this container holds, in their order; none for values
    /// of other kinds. Makes no index and allocates nothing; meant for one or two lookups.
    public func visitMembers(
        within token: JSONToken, _ body: (_ key: JSONToken, _ value: JSONToken) -> Void
    ) {
        guard token.kind == .object else { return }
        let bytes = bytes
        do {
            try JSONScanner.whole(
                bytes.readableBytesUInt8Span.extracting(token.range), .object
            ) { (text, at) throws(JSONError) in
                let key = try JSONScanner.key(text, &at)
                let value = try JSONScanner.value(text, &at, depth: 1)
                body(key.moved(by: token.start), value.moved(by: token.start))
            }
        } catch {
            // Cannot happen: the text was checked with the whole.
        }
    }

    /// Where the value of `key` lies in an object that this container holds. If a key occurs twice, the
    /// last one counts.
    public func value(_ key: String, within token: JSONToken) -> JSONToken? {
        let bytes = bytes
        var found: JSONToken?
        visitMembers(within: token) { name, value in
            if JSONObject.isKey(name, key, in: bytes.readableBytesUInt8Span) { found = value }
        }
        return found
    }

    public func object(_ token: JSONToken) -> JSONObject? {
        slice(token, .object).flatMap { try? JSONObject($0) }
    }

    public func array(_ token: JSONToken) -> JSONArray? {
        slice(token, .array).flatMap { try? JSONArray($0) }
    }

    private func slice(_ token: JSONToken, _ kind: JSONKind) -> ByteBuffer? {
        guard token.kind == kind else { return nil }
        return bytes.getSlice(
            at: bytes.readerIndex + token.range.lowerBound, length: token.range.count)
    }
}

extension JSONToken {
    /// The token in an enclosing text, in which its own text begins at byte `bytes`.
    fileprivate func moved(by bytes: UInt32) -> JSONToken {
        var token = self
        token.start += bytes
        token.end += bytes
        return token
    }
}

extension ByteBuffer {
    /// The same bytes in storage of their own.
    public func detached() -> ByteBuffer {
        var copy = ByteBuffer()
        copy.writeImmutableBuffer(self)
        return copy
    }

    /// Offsets count from the first readable byte.
    func text(_ range: Range<Int>) -> String? {
        getString(at: readerIndex + range.lowerBound, length: range.count)
    }
}
