package import NIOCore

/// Turns kept entries into JSON objects with the fields of the JSON log, the text log's line, a summary, or
/// all of these: for the control API, which reads `MessageRing`.
package struct MessageFormatter: Sendable {
    package enum Content: String, Hashable, Sendable, CaseIterable {
        /// The fields of `TrafficJSONFormat`.
        case json
        /// `n`, and the line of the text log as `text`.
        case text
        /// The fields without `params`, `payload`, `problems` and `message`, and a `summary` with the part of
        /// the line that no field has: for readers that build their own lines.
        case summary
        /// All of them.
        case both
    }

    private let content: Content
    private var text: TrafficTextFormat
    private var json: TrafficJSONFormat
    private var textLine: LineBuilder
    private var line = LineBuilder()
    /// The text of the `message` member.
    private var words = LineBuilder()

    /// - Parameter hasColours: ANSI colours in `text` and `summary`, escaped as JSON escapes them.
    package init(_ content: Content, hasColours: Bool = false, timeZone: LogTimeZone = .local) {
        self.content = content
        text = TrafficTextFormat(zone: timeZone)
        json = TrafficJSONFormat(time: .milliseconds, isWhole: content != .summary)
        textLine = LineBuilder(hasColours: hasColours)
    }

    /// Appends the object of `entry`, without a line end.
    package mutating func append(_ entry: TrafficEntry, to buffer: inout ByteBuffer) {
        line.clear()
        switch content {
        case .json, .summary, .both:
            json.append(entry, to: &line)
            if content != .summary { text.appendMessage(entry, to: &line, using: &words) }
        case .text:
            line.append("{\"n\":")
            line.append(entry.number)
            line.append(ascii: "}")
        }
        guard content != .json else {
            buffer.writeBytes(line.bytes)
            return
        }
        buffer.writeBytes(line.bytes.dropLast())
        if content != .summary {
            textLine.clear()
            text.append(entry, to: &textLine)
            write(",\"text\":", to: &buffer)
        }
        if content != .text {
            textLine.clear()
            text.appendSummary(entry, to: &textLine)
            textLine.trimEnd()
            write(",\"summary\":", to: &buffer)
        }
        buffer.writeStaticString("}")
    }

    /// Writes `textLine` as a member of the object.
    private mutating func write(_ key: StaticString, to buffer: inout ByteBuffer) {
        buffer.writeStaticString(key)
        line.clear()
        // Each part of a summary begins with the gap after the previous part.
        let words = textLine.bytes.drop { $0 == UInt8(ascii: " ") }
        line.append(jsonString: String(decoding: words, as: UTF8.self))
        buffer.writeBytes(line.bytes)
    }
}
