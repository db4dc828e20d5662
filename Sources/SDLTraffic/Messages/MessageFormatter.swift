package import NIOCore

/// Turns kept entries into JSON objects with the fields of the JSON log, the text log's line, or
/// both: for the control API, which reads `MessageRing`.
package struct MessageFormatter: Sendable {
    package enum Content: String, Hashable, Sendable, CaseIterable {
        /// The fields of `TrafficJSONFormat`.
        case json
        /// `n`, and the line of the text log as `text`.
        case text
        /// All of them.
        case both
    }

    private let content: Content
    private var text: TrafficTextFormat
    private var json = TrafficJSONFormat(time: .milliseconds)
    private var textLine: LineBuilder
    private var line = LineBuilder()

    /// - Parameter hasColours: ANSI colours in `text`, escaped as JSON escapes them.
    package init(_ content: Content, hasColours: Bool = false, timeZone: LogTimeZone = .local) {
        self.content = content
        text = TrafficTextFormat(zone: timeZone)
        textLine = LineBuilder(hasColours: hasColours)
    }

    /// Appends the object of `entry`, without a line end.
    package mutating func append(_ entry: TrafficEntry, to buffer: inout ByteBuffer) {
        line.clear()
        switch content {
        case .json, .both:
            json.append(entry, to: &line)
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
        buffer.writeStaticString(",\"text\":")
        textLine.clear()
        text.append(entry, to: &textLine)
        line.clear()
        line.append(jsonString: String(decoding: textLine.bytes, as: UTF8.self))
        buffer.writeBytes(line.bytes)
        buffer.writeStaticString("}")
    }
}
