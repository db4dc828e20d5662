package import OpenXCProtocol

/// Cuts a trace in the ecosystem's own form into messages: JSON objects in lines (LF or CR LF), with a NUL
/// behind each as vehicle interfaces write them on SD cards, or in lines that begin with their time, as
/// openxc-android did before 2.0. Takes pieces of any size; what is no message is told with its line and
/// skipped.
package struct TraceLineReader: Sendable {
    /// What a line was.
    package enum Line: Hashable, Sendable {
        /// - Parameters:
        ///   - time: seconds; nil for a line without.
        ///   - message: without a timestamp.
        case message(VehicleMessage, time: Double?, number: Int)
        /// Its first line may say what the trace is.
        case header(number: Int)
        case bad(MessageProblem, number: Int)
    }

    /// Longer lines are skipped: no message is longer, and before it may stand a time.
    package static let maximumLineBytes = VehicleMessageReader.maximumJSONBytes + 64
    /// Where seconds end and milliseconds begin, when nothing else tells: the year 5138, or 1973.
    static let firstMilliseconds = 1e11

    private var line: [UInt8] = []
    private var isTooLong = false
    private var bytes: [UInt8] = []
    private var head = 0
    /// What ended the first piece; the other one ends pieces too, and does not count as a line.
    private var delimiter: UInt8?
    private var number = 1
    private var isAtStart = true

    package init() {}

    /// - Parameter more: is followed by calls of `next` until that returns nil.
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

    /// The last line, if nothing ended it.
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
        // A byte order mark.
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

    /// Digits with a fraction.
    private static func time(_ digits: ArraySlice<UInt8>) -> Double? {
        guard digits.count <= 32, digits.allSatisfy({ isDigit($0) || $0 == UInt8(ascii: ".") }),
            let time = Double(String(decoding: digits, as: UTF8.self)), time.isFinite,
            time < VehicleMessage.latestTimestamp
        else { return nil }
        return time
    }

    /// What is written on SD cards counts in milliseconds as on a link, also without a clock that is set.
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
