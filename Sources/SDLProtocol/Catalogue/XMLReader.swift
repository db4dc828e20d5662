// A small strict XML reader for specifications that users bring; used by `RPCSpecification`.
//
// Own code and not FoundationXML, which would link libxml2 and Foundation into the daemon, expand
// entities, and read files the document names. This one knows elements, attributes, comments,
// CDATA, processing instructions and the five named entities; it refuses document types, and with
// them every way to make a small file large. It keeps no more than the path to its position.

/// Hands out the elements of a document one by one; text between them is checked and skipped.
struct XMLReader {
    /// Real specifications nest seven deep.
    static let maximumDepth = 32
    /// Attributes of an element; real ones have at most ten.
    static let maximumAttributes = 64
    /// Bytes of a name or an attribute's value; real ones have at most 60.
    static let maximumLength = 4096

    enum Event: Equatable {
        case start(name: String, attributes: [String: String])
        /// Follows every start, even that of an element without content.
        case end(name: String)
    }

    private let bytes: [UInt8]
    private var at = 0
    /// The line of `at`, from 1.
    private(set) var line = 1
    /// Where the tag of the latest event begins.
    private(set) var tagLine = 1
    private var open: [(name: String, line: Int)] = []
    private var isEmptyElement = false
    private var hasRoot = false

    init(_ bytes: [UInt8]) throws(XMLError) {
        self.bytes = bytes
        if skip("\u{FEFF}") { return }
        let isUTF16 = bytes.count > 1 && (bytes[0] >= 0xFE && bytes[1] >= 0xFE || bytes[0] == 0)
        if isUTF16 { throw error("the file is not UTF-8") }
    }

    /// The next event; nil at the end of the document.
    mutating func next() throws(XMLError) -> Event? {
        if isEmptyElement {
            isEmptyElement = false
            return .end(name: open.removeLast().name)
        }
        while true {
            try skipText()
            guard at < bytes.count else {
                if let (name, line) = open.last {
                    throw error("the file ends inside <\(name)> of line \(line)")
                }
                guard hasRoot else { throw error("no element at all") }
                return nil
            }
            if skip("<!--") {
                try skip(past: "-->", of: "a comment")
            } else if skip("<?") {
                try skip(past: "?>", of: "a processing instruction")
            } else if skip("<![CDATA[") {
                guard !open.isEmpty else { throw error("CDATA outside of any element") }
                try skip(past: "]]>", of: "CDATA")
            } else if skip("<!") {
                throw error("document types and entity declarations are not supported")
            } else if skip("</") {
                tagLine = line
                return try endTag()
            } else {
                tagLine = line
                at += 1
                return try startTag()
            }
        }
    }

    // MARK: Tags

    private mutating func startTag() throws(XMLError) -> Event {
        let name = try name(of: "an element")
        guard !open.isEmpty || !hasRoot else { throw error("<\(name)> after the end of the root") }
        guard open.count < Self.maximumDepth else {
            throw error("elements nested deeper than \(Self.maximumDepth)")
        }
        hasRoot = true
        var attributes: [String: String] = [:]
        while true {
            let hasSpace = skipSpace()
            if skip(">") { break }
            if skip("/>") {
                isEmptyElement = true
                break
            }
            guard at < bytes.count else { throw error("the file ends inside the tag <\(name)>") }
            let key = try self.name(of: "an attribute of <\(name)>")
            guard hasSpace else { throw error("no space in front of attribute \(key)") }
            skipSpace()
            guard skip("=") else { throw error("attribute \(key) of <\(name)> has no value") }
            skipSpace()
            let value = try value(of: key)
            guard attributes.updateValue(value, forKey: key) == nil else {
                throw error("attribute \(key) appears twice in <\(name)>")
            }
            guard attributes.count <= Self.maximumAttributes else {
                throw error("<\(name)> has more than \(Self.maximumAttributes) attributes")
            }
        }
        open.append((name, tagLine))
        return .start(name: name, attributes: attributes)
    }

    private mutating func endTag() throws(XMLError) -> Event {
        let name = try name(of: "an end tag")
        skipSpace()
        guard skip(">") else { throw error("</\(name) without its >") }
        guard let (expected, line) = open.popLast() else {
            throw error("</\(name)> without a start")
        }
        guard expected == name else {
            throw error(
                "</\(name)> where </\(expected)> was expected, for <\(expected)> of line \(line)")
        }
        return .end(name: name)
    }

    private mutating func name(of what: String) throws(XMLError) -> String {
        let start = at
        while at < bytes.count, Self.isNameByte(bytes[at]) { at += 1 }
        guard at > start, at - start <= Self.maximumLength,
            !(UInt8(ascii: "-")...UInt8(ascii: "9")).contains(bytes[start])
        else { throw error("no name of \(what) here") }
        return try text(bytes[start..<at])
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: ":"),
            UInt8(ascii: "-"), UInt8(ascii: "."), 0x80...:
            true
        default: false
        }
    }

    private mutating func value(of key: String) throws(XMLError) -> String {
        guard at < bytes.count, bytes[at] == UInt8(ascii: "\"") || bytes[at] == UInt8(ascii: "'")
        else { throw error("the value of attribute \(key) is not in quotes") }
        let quote = bytes[at]
        at += 1
        var value: [UInt8] = []
        while true {
            guard at < bytes.count else {
                throw error("the file ends inside the value of attribute \(key)")
            }
            let byte = bytes[at]
            switch byte {
            case quote:
                at += 1
                return try text(value[...])
            case UInt8(ascii: "<"): throw error("a < in the value of attribute \(key)")
            case UInt8(ascii: "&"): value += try reference()
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"):
                advance()
                value.append(UInt8(ascii: " "))
            default:
                at += 1
                value.append(byte)
            }
            guard value.count <= Self.maximumLength else {
                throw error(
                    "the value of attribute \(key) is longer than \(Self.maximumLength) bytes")
            }
        }
    }

    /// One of the five named entities, or a character by number.
    private mutating func reference() throws(XMLError) -> [UInt8] {
        for (name, byte) in [
            ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"), ("&quot;", "\""), ("&apos;", "'"),
        ] as [(StaticString, StaticString)] where skip(name) {
            return [byte.utf8Start.pointee]
        }
        if skip("&#") {
            let radix = skip("x") ? 16 : 10
            let start = at
            while at < bytes.count, bytes[at] != UInt8(ascii: ";"), at - start < 8 { at += 1 }
            let digits = String(decoding: bytes[start..<at], as: UTF8.self)
            if skip(";"), !digits.hasPrefix("+"), let number = UInt32(digits, radix: radix),
                let scalar = Unicode.Scalar(number)
            {
                return Array(String(scalar).utf8)
            }
        }
        throw error("an & that begins no known entity (&lt; &gt; &amp; &quot; &apos; &#…;)")
    }

    private func text(_ bytes: ArraySlice<UInt8>) throws(XMLError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw error("bytes that are not UTF-8")
        }
        return text
    }

    // MARK: Between tags

    private mutating func skipText() throws(XMLError) {
        while at < bytes.count, bytes[at] != UInt8(ascii: "<") {
            if bytes[at] == UInt8(ascii: "&") {
                _ = try reference()
                continue
            }
            let isSpace = [0x20, 0x09, 0x0A, 0x0D].contains(bytes[at])
            guard isSpace || !open.isEmpty else { throw error("text outside of any element") }
            advance()
        }
    }

    @discardableResult
    private mutating func skipSpace() -> Bool {
        let start = at
        while at < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[at]) { advance() }
        return at > start
    }

    private mutating func skip(past end: StaticString, of what: String) throws(XMLError) {
        let start = line
        while !skip(end) {
            guard at < bytes.count else {
                throw XMLError(line: start, reason: "\(what) that does not end")
            }
            advance()
        }
    }

    /// Skips `text` if it stands here, and returns whether it did.
    private mutating func skip(_ text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard bytes.count - at >= count else { return false }
        for offset in 0..<count where bytes[at + offset] != text.utf8Start[offset] { return false }
        at += count
        return true
    }

    private mutating func advance() {
        if bytes[at] == UInt8(ascii: "\n") { line += 1 }
        at += 1
    }

    private func error(_ reason: String) -> XMLError {
        XMLError(line: line, reason: reason)
    }
}

/// Why a file is not the XML it should be, and where.
struct XMLError: Error, Hashable, Sendable {
    /// From 1.
    var line: Int
    var reason: String
}
