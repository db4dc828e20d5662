// Walks the small flat objects of OpenXC in place: one pass that checks the grammar and finds where values
// end. Not SDLProtocol's scanner, which indexes large objects for later: here every member is wanted at once,
// and an incomplete object must be distinguished from an invalid one.

/// The position of a value; offsets count from the start of the text.
struct JSONToken {
    enum Kind: UInt8 {
        case absent
        case object
        case array
        case string
        case number
        case `true`
        case `false`
        case null
    }

    var kind = Kind.absent
    /// For a string: whether it is printable ASCII throughout, without a backslash.
    var isPlain = true
    var start: UInt32 = 0
    var end: UInt32 = 0

    var range: Range<Int> { Int(start)..<Int(end) }
    /// For a string: the range between the quotes.
    var content: Range<Int> { Int(start) + 1..<Int(end) - 1 }
}

/// Why a walk ended before its value did.
enum JSONStop: Error {
    /// Valid JSON so far; more has to come.
    case incomplete
    /// - Parameter at: The offset of the byte that is not allowed there.
    case malformed(MessageProblem, at: Int)
}

/// The grammar of RFC 8259. Strings may hold invalid UTF-8, which readers repair, but no control characters.
enum JSONCursor {
    /// A limit for `extras` only: no other member nests freely.
    static let maximumDepth = 16

    @inline(__always)
    static func skipBlanks(_ text: Span<UInt8>, _ at: inout Int) throws(JSONStop) {
        while at < text.count {
            let byte = text[at]
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
            at += 1
        }
        throw .incomplete
    }

    /// Reads the value at `at`, and moves `at` past it.
    @inline(__always)
    static func value(_ text: Span<UInt8>, _ at: inout Int) throws(JSONStop) -> JSONToken {
        guard at < text.count else { throw .incomplete }
        switch text[at] {
        case UInt8(ascii: "\""): return try string(text, &at)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number(text, &at)
        case UInt8(ascii: "{"), UInt8(ascii: "["): return try nested(text, &at)
        default: return try word(text, &at)
        }
    }

    static func string(_ text: Span<UInt8>, _ at: inout Int) throws(JSONStop) -> JSONToken {
        guard at < text.count else { throw .incomplete }
        guard text[at] == UInt8(ascii: "\"") else { throw .malformed(.notJSON, at: at) }
        var token = JSONToken(kind: .string, start: UInt32(at))
        at += 1
        while at < text.count {
            let byte = text[at]
            switch byte {
            case UInt8(ascii: "\""):
                at += 1
                token.end = UInt32(at)
                return token
            case UInt8(ascii: "\\"):
                token.isPlain = false
                try escape(text, &at)
            case 0..<0x20: throw .malformed(.notJSON, at: at)
            case 0x7F...:
                token.isPlain = false
                at += 1
            default: at += 1
            }
        }
        throw .incomplete
    }

    /// Skips an escape; `at` is at its backslash.
    private static func escape(_ text: Span<UInt8>, _ at: inout Int) throws(JSONStop) {
        guard at + 1 < text.count else { throw .incomplete }
        at += 1
        switch text[at] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
            UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            at += 1
        case UInt8(ascii: "u"):
            at += 1
            for _ in 0..<4 {
                guard at < text.count else { throw .incomplete }
                guard HexText.value(of: text[at]) != nil else { throw .malformed(.notJSON, at: at) }
                at += 1
            }
        default: throw .malformed(.notJSON, at: at)
        }
    }

    private static func number(_ text: Span<UInt8>, _ at: inout Int) throws(JSONStop) -> JSONToken {
        var token = JSONToken(kind: .number, start: UInt32(at))
        if text[at] == UInt8(ascii: "-") { at += 1 }
        if at < text.count, text[at] == UInt8(ascii: "0") {
            at += 1
        } else {
            try digits(text, &at)
        }
        if at < text.count, text[at] == UInt8(ascii: ".") {
            at += 1
            try digits(text, &at)
        }
        if at < text.count, text[at] | 0x20 == UInt8(ascii: "e") {
            at += 1
            if at < text.count, text[at] == UInt8(ascii: "+") || text[at] == UInt8(ascii: "-") {
                at += 1
            }
            try digits(text, &at)
        }
        token.end = UInt32(at)
        return token
    }

    /// Skips one or more digits.
    @inline(__always)
    private static func digits(_ text: Span<UInt8>, _ at: inout Int) throws(JSONStop) {
        let start = at
        while at < text.count, text[at] &- UInt8(ascii: "0") <= 9 { at += 1 }
        guard at > start else {
            if at < text.count { throw .malformed(.notJSON, at: at) }
            throw .incomplete
        }
    }

    private static func word(_ text: Span<UInt8>, _ at: inout Int) throws(JSONStop) -> JSONToken {
        switch text[at] {
        case UInt8(ascii: "t"): return try word("true", .true, text, &at)
        case UInt8(ascii: "f"): return try word("false", .false, text, &at)
        case UInt8(ascii: "n"): return try word("null", .null, text, &at)
        default: throw .malformed(.notJSON, at: at)
        }
    }

    private static func word(
        _ word: StaticString, _ kind: JSONToken.Kind, _ text: Span<UInt8>, _ at: inout Int
    ) throws(JSONStop) -> JSONToken {
        let start = at
        for offset in 0..<word.utf8CodeUnitCount {
            guard at < text.count else { throw .incomplete }
            guard text[at] == word.utf8Start[offset] else { throw .malformed(.notJSON, at: at) }
            at += 1
        }
        return JSONToken(kind: kind, start: UInt32(start), end: UInt32(at))
    }

    /// Skips an object or array inside another. Depth costs no stack.
    private static func nested(_ text: Span<UInt8>, _ at: inout Int) throws(JSONStop) -> JSONToken {
        let start = at
        let kind = text[at] == UInt8(ascii: "{") ? JSONToken.Kind.object : .array
        /// A bit for each open bracket: 1 for an object, 0 for an array.
        var open: UInt32 = 0
        var depth = 0
        repeat {
            let byte = text[at]
            if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
                depth += 1
                guard depth < maximumDepth else { throw .malformed(.tooDeep, at: at) }
                open = open << 1 | (byte == UInt8(ascii: "{") ? 1 : 0)
                at += 1
                try skipBlanks(text, &at)
                // Empty: the closing bracket is two code points after the opening one.
                if text[at] != byte + 2 {
                    if open & 1 == 1 { try key(text, &at) }
                    guard at < text.count else { throw .incomplete }
                    continue
                }
            } else {
                _ = try scalar(text, &at)
                try skipBlanks(text, &at)
            }
            try close(text, &at, &open, &depth)
        } while depth > 0
        return JSONToken(kind: kind, start: UInt32(start), end: UInt32(at))
    }

    private static func scalar(_ text: Span<UInt8>, _ at: inout Int) throws(JSONStop) -> JSONToken {
        switch text[at] {
        case UInt8(ascii: "\""): try string(text, &at)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number(text, &at)
        default: try word(text, &at)
        }
    }

    /// After a value: closes brackets, or moves on to the next value.
    private static func close(
        _ text: Span<UInt8>, _ at: inout Int, _ open: inout UInt32, _ depth: inout Int
    ) throws(JSONStop) {
        while depth > 0 {
            if text[at] == UInt8(ascii: ",") {
                at += 1
                try skipBlanks(text, &at)
                if open & 1 == 1 { try key(text, &at) }
                guard at < text.count else { throw .incomplete }
                return
            }
            guard text[at] == (open & 1 == 1 ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                throw .malformed(.notJSON, at: at)
            }
            at += 1
            open >>= 1
            depth -= 1
            if depth > 0 { try skipBlanks(text, &at) }
        }
    }

    /// Reads a key and its colon; `at` is then at the value.
    @discardableResult
    @inline(__always)
    static func key(_ text: Span<UInt8>, _ at: inout Int) throws(JSONStop) -> JSONToken {
        let key = try string(text, &at)
        try skipBlanks(text, &at)
        guard text[at] == UInt8(ascii: ":") else { throw .malformed(.notJSON, at: at) }
        at += 1
        try skipBlanks(text, &at)
        return key
    }
}
