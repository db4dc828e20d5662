package import OpenXCProtocol

/// Cuts a trace in the ecosystem's own form into messages: JSON objects in lines (LF or CR LF), each followed
/// by a NUL as vehicle interfaces write them on SD cards, or in lines that begin with their time, as
/// openxc-android wrote them before 2.0. Takes pieces of any size; anything that is not a message is reported
/// with its line and skipped.
package struct TraceLineReader: Sendable {
    /// The content of a line.
    package enum Line: Hashable, Sendable {
        /// - Parameters:
        ///   - time: In seconds; nil for a line without a time.
        ///   - message: Without a timestamp.
        case message(VehicleMessage, time: Double?, number: Int)
        /// A description of the trace, which may be its first line.
        case header(number: Int)
        case bad(MessageProblem, number: Int)
    }

    /// Longer lines are skipped: no message is longer, even with a time before it.
    package static let maximumLineBytes = VehicleMessageReader.maximumJSONBytes + 64
    /// Times from here on are milliseconds, when nothing else tells: the year 5138 in seconds, or 1973.
    static let firstMilliseconds = 1e11

    private var line: [UInt8] = []
    private var isTooLong = false
    private var bytes: [UInt8] = []
    private var head = 0
    /// The delimiter of the first piece; the other one ends pieces too, but does not count as a line.
    private var delimiter: UInt8?
    private var number = 1
    private var isAtStart = true

    package init() {}

    /// - Parameter more: The new bytes; call `next` afterwards until it returns nil.
    package mutating func append(_ more: some Sequence<UInt8>) {
        bytes.removeSubrange(..<head)
        head = 0
        bytes.append(contentsOf: more)
    }

    /// - Returns: Nil when more bytes are needed.
    package mutating func next() -> Line? {
        while head < bytes.count {
            let end = bytes[head...].firstIndex { $0 == 0 || $0 == UInt8(ascii: "\n") }
            take(head..<(end ?? bytes.count))
            guard let end else {
                head = bytes.count
                return nil
            }
            head = end + 1
            if delimiter == nil { delimiter = bytes[end] }
            defer { if bytes[end] == delimiter { number += 1 } }
            if let line = finishLine() { return line }
        }
        return nil
    }

    /// The last line, if it has no delimiter.
    package mutating func finish() -> Line? { finishLine() }

    private mutating func take(_ range: Range<Int>) {
        if isTooLong { return }
        if line.count + range.count > Self.maximumLineBytes {
            isTooLong = true
            line = []
        } else {
            line.append(contentsOf: bytes[range])
        }
    }

    private mutating func finishLine() -> Line? {
        defer {
            line.removeAll(keepingCapacity: true)
            isTooLong = false
            isAtStart = false
        }
        if isTooLong { return .bad(.tooLong, number: number) }
        var text = line[...]
        // Skips a byte order mark.
        if isAtStart, text.starts(with: [0xEF, 0xBB, 0xBF]) { text = text.dropFirst(3) }
        text = text.drop { Self.isBlank($0) }
        guard !text.isEmpty else { return nil }
        do throws(MessageProblem) {
            return try read(text)
        } catch {
            return .bad(error, number: number)
        }
    }

    private func read(_ text: ArraySlice<UInt8>) throws(MessageProblem) -> Line {
        var text = text
        var time: Double?
        if text.first != UInt8(ascii: "{"), let colon = text.firstIndex(of: UInt8(ascii: ":")) {
            guard let before = Self.time(text[..<colon]) else { throw .notJSON }
            time = before
            text = text[(colon + 1)...]
        }
        var message = try VehicleMessage(json: Array(text).span)
        time = message.timestamp ?? time
        message.timestamp = nil
        if case .header = message.content { return .header(number: number) }
        return .message(message, time: time.map(seconds), number: number)
    }

    /// Parses digits with a fraction.
    private static func time(_ digits: ArraySlice<UInt8>) -> Double? {
        guard digits.count <= 32, digits.allSatisfy({ isDigit($0) || $0 == UInt8(ascii: ".") }),
            let time = Double(String(decoding: digits, as: UTF8.self)), time.isFinite,
            time < VehicleMessage.latestTimestamp
        else { return nil }
        return time
    }

    /// Times on SD cards are in milliseconds as on a link, even if the clock was not set.
    private func seconds(_ time: Double) -> Double {
        delimiter == 0 || time >= Self.firstMilliseconds ? time / 1000 : time
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || (0x09...0x0D).contains(byte)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}

extension MessageProblem {
    /// For people, behind "line 12: ".
    package var words: String {
        switch self {
        case .notJSON: "not a JSON object"
        case .tooDeep: "JSON that is nested too deep"
        case .tooLong: "longer than a message can be"
        case .notProtobuf: "not a protobuf message"
        case .wrongKind: "a member of the wrong type"
        case .outOfRange: "a number that is out of range"
        case .notHex: "text that is not pairs of hexadecimal digits"
        case .tooMuchData: "more data than its kind may have"
        case .missing: "a required member is missing"
        case .cannotBeSaid: "something that the other format cannot express"
        }
    }
}
