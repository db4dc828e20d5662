import NIOCore

extension JSONObject {
    /// The same object without whitespace between values, as any JSON reader takes it. Numbers and
    /// escapes stay as they are, with two exceptions that strict readers refuse: a number that is
    /// too large for a double, 1e309, becomes a string, and half a surrogate pair becomes U+FFFD.
    ///
    /// Bytes that would break the line or a terminal are escaped, invalid UTF-8 is repaired.
    public func appendCompacted(to line: inout [UInt8]) {
        guard !members.isEmpty else {
            line.append(UInt8(ascii: "{"))
            line.append(UInt8(ascii: "}"))
            return
        }
        JSONCompactor.append(bytes.readableBytesUInt8Span, to: &line)
    }

    /// One value of the object in the same way.
    public func appendCompacted(_ token: JSONToken, to line: inout [UInt8]) {
        let text = bytes.readableBytesUInt8Span
        JSONCompactor.append(text.extracting(token.range), to: &line)
    }

    public var compacted: String {
        var line: [UInt8] = []
        appendCompacted(to: &line)
        return String(decoding: line, as: UTF8.self)
    }
}

/// Copies well-formed JSON run by run, leaving out what is not needed.
private struct JSONCompactor {
    private var at = 0
    /// Where the bytes begin that are not copied yet.
    private var runStart = 0

    static func append(_ text: Span<UInt8>, to line: inout [UInt8]) {
        line.reserveCapacity(line.count + text.count)
        var compactor = JSONCompactor()
        compactor.run(text, &line)
    }

    private mutating func run(_ text: Span<UInt8>, _ line: inout [UInt8]) {
        var isInString = false
        while at < text.count {
            let byte = text[at]
            if isInString {
                switch byte {
                case UInt8(ascii: "\""): isInString = false
                case UInt8(ascii: "\\"):
                    escape(text, &line)
                    continue
                case 0..<0x20, 0x7F...:
                    unusual(text, &line)
                    continue
                default: break
                }
            } else {
                switch byte {
                case 0x20, 0x09, 0x0A, 0x0D:
                    copy(text, upTo: at, to: &line)
                    JSONScanner.skipWhitespace(text, &at)
                    runStart = at
                    continue
                case UInt8(ascii: "\""): isInString = true
                case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                    number(text, &line)
                    continue
                default: break
                }
            }
            at += 1
        }
        copy(text, upTo: text.count, to: &line)
    }

    /// At a backslash: steps over what it escapes, and replaces half a surrogate pair.
    private mutating func escape(_ text: Span<UInt8>, _ line: inout [UInt8]) {
        let start = at
        at += 1
        guard at < text.count, text[at] == UInt8(ascii: "u") else {
            at += 1
            return
        }
        at = start
        let scalar = JSONUnescaper.scalar(text, &at, end: text.count, unescape: true)
        guard scalar == "\u{FFFD}" else { return }
        copy(text, upTo: start, to: &line)
        PrintableText.appendEscape(scalar, to: &line)
        runStart = at
    }

    private mutating func unusual(_ text: Span<UInt8>, _ line: inout [UInt8]) {
        copy(text, upTo: at, to: &line)
        let scalar = JSONUnescaper.scalar(text, &at, end: text.count, unescape: false)
        if PrintableText.isPrintable(scalar) {
            UTF8.encode(scalar).map { line.append(contentsOf: $0) }
        } else {
            PrintableText.appendEscape(scalar, to: &line)
        }
        runStart = at
    }

    /// At the first character of a number: steps over it, in quotes when no double can hold it.
    private mutating func number(_ text: Span<UInt8>, _ line: inout [UInt8]) {
        let start = at
        var hasExponent = false
        while at < text.count {
            switch text[at] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"),
                UInt8(ascii: "."):
                break
            case UInt8(ascii: "e"), UInt8(ascii: "E"): hasExponent = true
            default: return quoteIfHuge(text, start, hasExponent, &line)
            }
            at += 1
        }
        quoteIfHuge(text, start, hasExponent, &line)
    }

    /// The largest double has 309 digits.
    private static let digitsThatFit = 308

    private mutating func quoteIfHuge(
        _ text: Span<UInt8>, _ start: Int, _ hasExponent: Bool, _ line: inout [UInt8]
    ) {
        guard hasExponent || at - start > Self.digitsThatFit else { return }
        let digits = text.extracting(start..<at).withUnsafeBufferPointer {
            String(decoding: $0, as: UTF8.self)
        }
        guard let number = Double(digits), !number.isFinite else { return }
        copy(text, upTo: start, to: &line)
        line.append(UInt8(ascii: "\""))
        line.append(contentsOf: digits.utf8)
        line.append(UInt8(ascii: "\""))
        runStart = at
    }

    @inline(__always)
    private func copy(_ text: Span<UInt8>, upTo end: Int, to line: inout [UInt8]) {
        guard runStart < end else { return }
        text.withUnsafeBufferPointer {
            line.append(contentsOf: UnsafeBufferPointer(rebasing: $0[runStart..<end]))
        }
    }
}
