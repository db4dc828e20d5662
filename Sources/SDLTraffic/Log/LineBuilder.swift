import NIOCore
import SDLProtocol

/// Builds a log line byte by byte in a reused buffer; used by both formats. Appending numbers and text costs
/// no allocation once the buffer has grown.
struct LineBuilder: Sendable {
    private(set) var bytes: [UInt8] = []
    /// The start of the column, as an index of `bytes`.
    private var columnStart = 0
    let hasColours: Bool

    init(hasColours: Bool = false) {
        self.hasColours = hasColours
        bytes.reserveCapacity(1024)
    }

    mutating func clear() {
        bytes.removeAll(keepingCapacity: true)
    }

    /// Removes everything after this many bytes.
    mutating func cut(to count: Int) {
        bytes.removeSubrange(count...)
    }

    // MARK: Text

    @inline(__always)
    mutating func append(_ text: StaticString) {
        bytes.append(
            contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    @inline(__always)
    mutating func append(ascii: Unicode.Scalar) {
        bytes.append(UInt8(ascii: ascii))
    }

    /// Appends relayd's own text: names of functions, services, reasons.
    mutating func append(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    mutating func append(printable text: String, limit: Int = .max) {
        PrintableText.append(text, to: &bytes, limit: limit)
    }

    mutating func append(
        printable token: JSONToken, of object: JSONObject, limit: Int = .max
    ) {
        append(printable: token, of: object.bytes, limit: limit)
    }

    mutating func append(
        printable token: JSONToken, of text: ByteBuffer, limit: Int = .max
    ) {
        PrintableText.append(token, of: text, to: &bytes, limit: limit)
    }

    mutating func append(jsonString text: String) {
        PrintableText.appendJSONString(text, to: &bytes)
    }

    /// Appends a finished line as the inside of a JSON string, without its columns: one space between words.
    /// It has no control characters, because it was made for people.
    mutating func append(escapedWordsOf other: LineBuilder) {
        var isAfterSpace = true
        for byte in other.bytes {
            let isSpace = byte == UInt8(ascii: " ")
            if isSpace, isAfterSpace { continue }
            isAfterSpace = isSpace
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                bytes.append(UInt8(ascii: "\\"))
            }
            bytes.append(byte)
        }
    }

    mutating func append(compacted object: JSONObject) {
        object.appendCompacted(to: &bytes)
    }

    // MARK: Numbers

    mutating func append(_ number: some FixedWidthInteger) {
        if number < 0 { append(ascii: "-") }
        append(UInt64(number.magnitude), digits: 1)
    }

    /// At least `digits` digits, padded with zeros.
    mutating func append(_ number: UInt64, digits: Int) {
        var reversed: (UInt64, UInt64, UInt64) = (0, 0, 0)
        withUnsafeMutableBytes(of: &reversed) { buffer in
            var rest = number
            var count = 0
            repeat {
                buffer[count] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
                count += 1
            } while rest > 0 || count < min(digits, buffer.count)
            while count > 0 {
                count -= 1
                bytes.append(buffer[count])
            }
        }
    }

    /// One decimal, rounded down: 12.3.
    mutating func append(tenths: UInt64) {
        append(tenths / 10, digits: 1)
        append(ascii: ".")
        append(tenths % 10, digits: 1)
    }

    /// Two digits, lower case; `hexDigits` would make a string for each byte.
    mutating func append(hexByte byte: UInt8) {
        for digit in [byte >> 4, byte & 0xF] {
            bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }

    /// A number of bytes for people: 266 B, 9.4 KiB, 1.2 MiB.
    mutating func append(size: Int) {
        let size = ByteSize(size)
        append(size.whole)
        if let tenth = size.tenth {
            append(ascii: ".")
            append(tenth)
        }
        append(ascii: " ")
        append(size.unit)
    }

    /// A duration in nanoseconds for people: 0.3 ms, 8 ms, 12.3 s.
    mutating func append(latency: Int64) {
        let microseconds = UInt64(max(0, latency)) / 1000
        switch microseconds {
        case ..<1000:
            append(tenths: microseconds / 100)
            append(" ms")
        case ..<10_000_000:
            append(microseconds / 1000, digits: 1)
            append(" ms")
        default:
            append(tenths: microseconds / 100_000)
            append(" s")
        }
    }

    // MARK: Columns

    mutating func beginColumn() {
        columnStart = bytes.count
    }

    /// Pads the column with spaces; wider text shifts the rest of the line.
    mutating func endColumn(width: Int) {
        var columns = 0
        var isEscape = false
        for byte in bytes[columnStart...] {
            if byte == 0x1B {
                isEscape = true
            } else if isEscape {
                isEscape = byte != UInt8(ascii: "m")
            } else if byte & 0xC0 != 0x80 {
                columns += 1
            }
        }
        while columns < width {
            bytes.append(UInt8(ascii: " "))
            columns += 1
        }
    }

    /// Appends a text in a column of its own, padded with spaces. Text that does not fit is cut at its end,
    /// with "…" in the last place.
    mutating func append(printable text: String, inColumn width: Int) {
        let start = bytes.count
        append(printable: text)
        // Each byte of ASCII takes one column.
        var columns = bytes.count - start
        if columns > width || bytes[start...].contains(where: { $0 >= 0x80 }) {
            var text = String(decoding: bytes[start...], as: UTF8.self)
            if text.terminalColumns > width {
                text = text.prefix(terminalColumns: width - 1) + "…"
            }
            bytes.replaceSubrange(start..., with: text.utf8)
            columns = text.terminalColumns
        }
        while columns < width {
            bytes.append(UInt8(ascii: " "))
            columns += 1
        }
    }

    /// Removes the padding of the last column.
    mutating func trimEnd() {
        while bytes.last == UInt8(ascii: " ") { bytes.removeLast() }
    }

    /// Appends two spaces between the parts of a line.
    @inline(__always)
    mutating func gap() {
        append("  ")
    }

    // MARK: Colours

    mutating func begin(_ colour: LineColour) {
        if hasColours { append(colour.code) }
    }

    mutating func endColour() {
        if hasColours { append("\u{1B}[0m") }
    }

    mutating func append(_ text: String, _ colour: LineColour) {
        begin(colour)
        append(text)
        endColour()
    }
}
