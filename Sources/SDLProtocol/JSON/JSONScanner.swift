// Walks JSON in place: checks the grammar and finds where values end, copying nothing. Used by
// `JSONObject` and `JSONArray`.

/// What kind of value a piece of JSON is.
public enum JSONKind: UInt8, Hashable, Sendable {
    case object
    case array
    case string
    case number
    case bool
    case null
}

/// Why bytes are not JSON, and where.
public struct JSONError: Error, Hashable, Sendable {
    public enum Reason: Hashable, Sendable {
        /// The text ends inside a value.
        case truncated
        /// A byte that cannot stand there.
        case unexpected(UInt8)
        /// Nested deeper than `JSONScanner.maximumDepth`.
        case tooDeep
        /// A whole value of another kind than was asked for.
        case wrongKind(JSONKind)
    }

    public var reason: Reason
    /// Bytes from the start of the text.
    public var offset: Int
}

extension JSONError: CustomStringConvertible {
    public var description: String {
        switch reason {
        case .truncated: "ends after \(offset) bytes, inside a value"
        case .unexpected(let byte): "unexpected byte 0x\(hex(byte)) at byte \(offset)"
        case .tooDeep:
            "nested deeper than \(JSONScanner.maximumDepth) levels at byte \(offset)"
        case .wrongKind(let kind): "is of kind \(kind)"
        }
    }
}

/// Where a value lies; offsets count from the start of the text.
public struct JSONToken: Hashable, Sendable {
    public var kind: JSONKind
    /// A string with a backslash in it, which therefore cannot be used as it stands.
    public var hasEscapes: Bool
    var start: UInt32
    var end: UInt32

    public var range: Range<Int> { Int(start)..<Int(end) }
    /// The range of a string between its quotes.
    var content: Range<Int> { Int(start) + 1..<Int(end) - 1 }
}

/// Grammar of RFC 8259, a little wider: control characters may stand in strings unescaped, as
/// sdl_core's parser allows, and strings may hold invalid UTF-8, which readers repair.
enum JSONScanner {
    /// Real RPCs nest five deep; one bit of a `UInt64` remembers each open bracket.
    static let maximumDepth = 64

    @inline(__always)
    static func skipWhitespace(_ bytes: Span<UInt8>, _ index: inout Int) {
        while index < bytes.count {
            let byte = bytes[index]
            guard byte == 0x20 || byte == 0x0A || byte == 0x09 || byte == 0x0D else { return }
            index += 1
        }
    }

    /// Walks over a whole object or array with white space around it.
    ///
    /// - Parameter part: reads one member or element at the index it is given, and leaves the index
    ///   behind it.
    @inline(__always)
    static func whole(
        _ text: Span<UInt8>, _ kind: JSONKind,
        part: (Span<UInt8>, inout Int) throws(JSONError) -> Void
    ) throws(JSONError) {
        let bracket = kind == .object ? UInt8(ascii: "{") : UInt8(ascii: "[")
        // The closing bracket is two code points after the opening one.
        let closing = bracket + 2
        var at = 0
        skipWhitespace(text, &at)
        guard at < text.count else { throw truncated(text) }
        guard text[at] == bracket else {
            let other = try value(text, &at)
            throw JSONError(reason: .wrongKind(other.kind), offset: at)
        }
        at += 1
        skipWhitespace(text, &at)
        if at < text.count, text[at] == closing {
            at += 1
        } else {
            while true {
                try part(text, &at)
                skipWhitespace(text, &at)
                guard at < text.count else { throw truncated(text) }
                let byte = text[at]
                guard byte == UInt8(ascii: ",") || byte == closing else {
                    throw unexpected(text, at)
                }
                at += 1
                if byte == closing { break }
                skipWhitespace(text, &at)
            }
        }
        skipWhitespace(text, &at)
        guard at == text.count else { throw unexpected(text, at) }
    }

    /// The value at `index`, which then points past it. Depth costs no stack.
    static func value(
        _ bytes: Span<UInt8>, _ index: inout Int, depth outer: Int = 0
    ) throws(JSONError) -> JSONToken {
        let start = index
        var open: UInt64 = 0
        var depth = outer
        var token: JSONToken?
        repeat {
            guard index < bytes.count else { throw truncated(bytes) }
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                let isObject = byte == UInt8(ascii: "{")
                guard depth < maximumDepth else {
                    throw JSONError(reason: .tooDeep, offset: index)
                }
                if depth == outer {
                    token = JSONToken(
                        kind: isObject ? .object : .array, hasEscapes: false, start: 0, end: 0)
                }
                depth += 1
                open = open << 1 | (isObject ? 1 : 0)
                index += 1
                skipWhitespace(bytes, &index)
                guard index < bytes.count else { throw truncated(bytes) }
                guard bytes[index] == byte + 2 else {
                    if isObject { try key(bytes, &index) }
                    continue
                }
                // Empty: the closing bracket is two code points after the opening one.
                index += 1
                depth -= 1
                open >>= 1
            default:
                let scalar = try scalar(bytes, &index)
                if depth == outer { token = scalar }
            }
            try afterValue(bytes, &index, depth: &depth, outer: outer, open: &open)
        } while depth > outer
        guard var token else { throw truncated(bytes) }
        token.start = UInt32(start)
        token.end = UInt32(index)
        return token
    }

    /// Moves on to where the next value must begin, or closes brackets until none is open.
    @inline(__always)
    private static func afterValue(
        _ bytes: Span<UInt8>, _ index: inout Int, depth: inout Int, outer: Int, open: inout UInt64
    ) throws(JSONError) {
        while depth > outer {
            skipWhitespace(bytes, &index)
            guard index < bytes.count else { throw truncated(bytes) }
            let isObject = open & 1 == 1
            switch bytes[index] {
            case UInt8(ascii: ","):
                index += 1
                skipWhitespace(bytes, &index)
                if isObject { try key(bytes, &index) }
                return
            case UInt8(ascii: "}") where isObject, UInt8(ascii: "]") where !isObject:
                index += 1
                depth -= 1
                open >>= 1
            default: throw unexpected(bytes, index)
            }
        }
    }

    /// Skips a key and its colon; the value begins at `index` then.
    @discardableResult
    @inline(__always)
    static func key(_ bytes: Span<UInt8>, _ index: inout Int) throws(JSONError) -> JSONToken {
        guard index < bytes.count else { throw truncated(bytes) }
        guard bytes[index] == UInt8(ascii: "\"") else { throw unexpected(bytes, index) }
        let token = try string(bytes, &index)
        skipWhitespace(bytes, &index)
        guard index < bytes.count else { throw truncated(bytes) }
        guard bytes[index] == UInt8(ascii: ":") else { throw unexpected(bytes, index) }
        index += 1
        skipWhitespace(bytes, &index)
        return token
    }

    /// A value without brackets.
    @inline(__always)
    private static func scalar(
        _ bytes: Span<UInt8>, _ index: inout Int
    ) throws(JSONError) -> JSONToken {
        switch bytes[index] {
        case UInt8(ascii: "\""): return try string(bytes, &index)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            return try number(bytes, &index)
        case UInt8(ascii: "t"): return try literal("true", .bool, bytes, &index)
        case UInt8(ascii: "f"): return try literal("false", .bool, bytes, &index)
        case UInt8(ascii: "n"): return try literal("null", .null, bytes, &index)
        default: throw unexpected(bytes, index)
        }
    }

    private static func string(
        _ bytes: Span<UInt8>, _ index: inout Int
    ) throws(JSONError) -> JSONToken {
        let start = index
        var hasEscapes = false
        index += 1
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            if byte == UInt8(ascii: "\"") {
                return JSONToken(
                    kind: .string, hasEscapes: hasEscapes, start: UInt32(start), end: UInt32(index))
            }
            guard byte == UInt8(ascii: "\\") else { continue }
            hasEscapes = true
            try escape(bytes, &index)
        }
        throw truncated(bytes)
    }

    /// What follows a backslash.
    private static func escape(_ bytes: Span<UInt8>, _ index: inout Int) throws(JSONError) {
        guard index < bytes.count else { throw truncated(bytes) }
        switch bytes[index] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
            UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            index += 1
        case UInt8(ascii: "u"):
            index += 1
            for _ in 0..<4 {
                guard index < bytes.count else { throw truncated(bytes) }
                guard hexValue(bytes[index]) != nil else { throw unexpected(bytes, index) }
                index += 1
            }
        default: throw unexpected(bytes, index)
        }
    }

    private static func number(
        _ bytes: Span<UInt8>, _ index: inout Int
    ) throws(JSONError) -> JSONToken {
        let start = index
        if bytes[index] == UInt8(ascii: "-") { index += 1 }
        if index < bytes.count, bytes[index] == UInt8(ascii: "0") {
            index += 1
        } else {
            try digits(bytes, &index)
        }
        if index < bytes.count, bytes[index] == UInt8(ascii: ".") {
            index += 1
            try digits(bytes, &index)
        }
        if index < bytes.count, bytes[index] | 0x20 == UInt8(ascii: "e") {
            index += 1
            if index < bytes.count,
                bytes[index] == UInt8(ascii: "+") || bytes[index] == UInt8(ascii: "-")
            {
                index += 1
            }
            try digits(bytes, &index)
        }
        return JSONToken(
            kind: .number, hasEscapes: false, start: UInt32(start), end: UInt32(index))
    }

    /// One digit or more.
    private static func digits(_ bytes: Span<UInt8>, _ index: inout Int) throws(JSONError) {
        let start = index
        while index < bytes.count, bytes[index] &- UInt8(ascii: "0") <= 9 { index += 1 }
        guard index > start else {
            throw index < bytes.count ? unexpected(bytes, index) : truncated(bytes)
        }
    }

    private static func literal(
        _ text: StaticString, _ kind: JSONKind, _ bytes: Span<UInt8>, _ index: inout Int
    ) throws(JSONError) -> JSONToken {
        let start = index
        for offset in 0..<text.utf8CodeUnitCount {
            guard index < bytes.count else { throw truncated(bytes) }
            guard bytes[index] == text.utf8Start[offset] else { throw unexpected(bytes, index) }
            index += 1
        }
        return JSONToken(kind: kind, hasEscapes: false, start: UInt32(start), end: UInt32(index))
    }

    @inline(__always)
    static func hexValue(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A") + 10)
        default: nil
        }
    }

    @inline(never)
    static func truncated(_ bytes: Span<UInt8>) -> JSONError {
        JSONError(reason: .truncated, offset: bytes.count)
    }

    @inline(never)
    static func unexpected(_ bytes: Span<UInt8>, _ index: Int) -> JSONError {
        JSONError(reason: .unexpected(bytes[index]), offset: index)
    }
}
