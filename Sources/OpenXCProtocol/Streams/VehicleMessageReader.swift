/// Cuts a stream of bytes into messages of either form, and resynchronizes after garbage.
///
/// The first bytes of each message identify its form: JSON begins with a brace and a quote, protobuf with a
/// length, `08`, and one of the types. No byte sequence is both. So a vehicle interface that changes its form
/// needs no special treatment, nor does one that writes a JSON answer into a protobuf stream (some emulator
/// builds of firmware 8.1 and 8.2 do).
package struct VehicleMessageReader: Sendable {
    /// Longer texts are not messages: firmware sends at most 340 bytes and takes 383; the rest is for
    /// `extras`.
    package static let maximumJSONBytes = 4096
    /// The largest message that the firmware's own definition allows.
    package static let maximumProtobufBytes = 1383

    /// Where to continue after bytes that are not a message.
    package enum Recovery: Sendable {
        /// At the next beginning: a vehicle interface truncates a message that is too long, losing its end.
        case nextBeginning
        /// Behind the next NUL or line end: the contents of a client's broken message are not messages of the
        /// client.
        case nextPiece
    }

    /// Counts of the messages and bytes received so far.
    package struct Counts: Hashable, Sendable {
        package var json: UInt64 = 0
        package var protobuf: UInt64 = 0
        /// Messages that are well-formed, but of no known kind.
        package var unknown: UInt64 = 0
        /// Messages whose text was not valid Unicode and has been repaired.
        package var repaired: UInt64 = 0
        /// Bytes that belonged to no message.
        package var garbageBytes: UInt64 = 0
        package var problems: [MessageProblem: UInt64] = [:]

        package var messages: UInt64 { json &+ protobuf }
        package var failures: UInt64 { problems.values.reduce(0, &+) }

        package init() {}
    }

    package private(set) var counts = Counts()
    /// The form of the last message; nil before the first.
    package private(set) var format: PayloadFormat?

    private let recovery: Recovery
    private var bytes: [UInt8] = []
    /// The offset of the first unread byte.
    private var head = 0
    /// The range of the latest message.
    private var latest = 0..<0
    /// Whether the rest of a broken piece is being skipped.
    private var isSkippingPiece = false

    package init(recovery: Recovery) {
        self.recovery = recovery
    }

    /// Bytes that wait for the rest of their message. At most `maximumJSONBytes` once `next` has returned
    /// nil.
    package var pendingBytes: Int { bytes.count - head }

    /// The latest message that `next` returned, as it came: JSON without its terminator, protobuf with its
    /// length. Valid until more is appended.
    package var latestBytes: ArraySlice<UInt8> { bytes[latest] }

    /// - Parameter more: The new bytes; call `next` afterwards until it returns nil.
    package mutating func append(_ more: some Sequence<UInt8>) {
        if head > 0 {
            bytes.removeSubrange(..<head)
            head = 0
            latest = 0..<0
        }
        bytes.append(contentsOf: more)
    }

    /// Returns the next message; nil when more bytes are needed.
    package mutating func next() -> VehicleMessage? {
        while head < bytes.count {
            if isSkippingPiece, !skipPiece() { return nil }
            switch beginning() {
            case .none: skip(1)
            case .blank: head += 1
            case .unclear: return nil
            case .json:
                switch readJSON() {
                case .message(let message): return message
                case .garbage: continue
                case .incomplete: return nil
                }
            case .protobuf(let start, let count):
                guard canBeProtobuf(start, count) else {
                    fail(.notProtobuf)
                    skip(1)
                    continue
                }
                guard start + count <= bytes.count else { return nil }
                if let message = readProtobuf(start..<start + count) { return message }
            }
        }
        return nil
    }

    // MARK: - Beginnings

    private enum Beginning {
        case json
        /// - Parameter start: The start of the message, behind its length.
        case protobuf(start: Int, count: Int)
        /// A separator between messages.
        case blank
        /// More bytes are needed to tell.
        case unclear
        case none
    }

    private func beginning() -> Beginning {
        let first = bytes[head]
        let second = head + 1 < bytes.count ? bytes[head + 1] : nil
        // A length takes at most two bytes; a message itself is at least two bytes long.
        let lengthBytes = first < 0x80 ? 1 : 2
        if lengthBytes == 2, let second, second == 0 || second >= 0x80 { return .none }
        if first >= 2 {
            let type = head + lengthBytes
            let signs = bytes[min(type, bytes.count)..<min(type + 2, bytes.count)]
            let fits =
                signs.first.map { $0 == 0x08 } ?? true
                && (signs.count < 2 || (1...6).contains(signs[type + 1]))
            if fits {
                if signs.count < 2 { return .unclear }
                let count =
                    lengthBytes == 1
                    ? Int(first) : Int(first & 0x7F) | Int(bytes[head + 1]) << 7
                if count <= Self.maximumProtobufBytes {
                    return .protobuf(start: type, count: count)
                }
            }
        }
        if first == UInt8(ascii: "{") { return .json }
        return isBlank(first) || first == 0 ? .blank : .none
    }

    private func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || (0x09...0x0D).contains(byte)
    }

    // MARK: - Messages

    private enum Outcome {
        case message(VehicleMessage)
        case garbage
        case incomplete
    }

    private mutating func readJSON() -> Outcome {
        var at = 0
        let read: Result<(VehicleMessage, Bool), MessageProblem>
        do throws(JSONStop) {
            let available = min(bytes.count - head, Self.maximumJSONBytes)
            let text = bytes.span.extracting(head..<head + available)
            var reading = try JSONReading(text, &at)
            do throws(MessageProblem) {
                let message = try reading.message(text)
                read = .success((message, reading.repaired))
            } catch {
                read = .failure(error)
            }
        } catch {
            switch error {
            case .malformed(let problem, let place):
                fail(problem)
                restart(behind: place)
            case .incomplete:
                guard bytes.count - head >= Self.maximumJSONBytes else { return .incomplete }
                fail(.tooLong)
                restart(behind: Self.maximumJSONBytes)
            }
            return .garbage
        }
        latest = head..<head + at
        head += at
        switch read {
        case .success((let message, let repaired)):
            counts.json &+= 1
            if repaired { counts.repaired &+= 1 }
            if case .unknown = message.content { counts.unknown &+= 1 }
            format = .json
            return .message(message)
        case .failure(let problem):
            // A whole object; its contents are not messages.
            fail(problem)
            return .garbage
        }
    }

    /// Whether the bytes received so far can be a message. The length before them may be garbage, and the
    /// bytes that it covers may be messages in either form.
    private func canBeProtobuf(_ start: Int, _ count: Int) -> Bool {
        let there = bytes.span.extracting(start..<start + min(count, bytes.count - start))
        return ProtobufOutline.fits(there, count: count) && !Self.holdsJSON(there)
    }

    /// Whether the bytes contain a whole JSON message with its line end or NUL. No text that a vehicle
    /// interface or a client puts into protobuf looks like that.
    private static func holdsJSON(_ text: Span<UInt8>) -> Bool {
        var start = 0
        while start + 1 < text.count {
            defer { start += 1 }
            guard text[start] == UInt8(ascii: "{"), text[start + 1] == UInt8(ascii: "\"") else {
                continue
            }
            let rest = text.extracting(start..<text.count)
            var end = 0
            guard var reading = try? JSONReading(rest, &end), end < rest.count,
                [0x00, 0x0A, 0x0D].contains(rest[end]),
                let content = try? reading.message(rest).content
            else { continue }
            if case .unknown = content { continue }
            return true
        }
        return false
    }

    private mutating func readProtobuf(_ range: Range<Int>) -> VehicleMessage? {
        do {
            let message = try VehicleMessage(protobuf: Array(bytes[range]))
            latest = head..<range.upperBound
            head = range.upperBound
            counts.protobuf &+= 1
            format = .protobuf
            return message
        } catch {
            fail(error)
            // The length may be wrong, too.
            if error == .notProtobuf { skip(1) } else { head = range.upperBound }
            return nil
        }
    }

    // MARK: - Garbage

    private mutating func fail(_ problem: MessageProblem) {
        counts.problems[problem, default: 0] &+= 1
    }

    private mutating func skip(_ count: Int) {
        head += count
        counts.garbageBytes &+= UInt64(count)
    }

    /// Continues after a broken object.
    ///
    /// - Parameter place: How far the object was read.
    private mutating func restart(behind place: Int) {
        switch recovery {
        case .nextBeginning: skip(1)
        case .nextPiece:
            skip(min(place, bytes.count - head))
            isSkippingPiece = true
        }
    }

    /// - Returns: Whether the piece is over.
    private mutating func skipPiece() -> Bool {
        let end = bytes[head...].firstIndex { $0 == 0 || $0 == UInt8(ascii: "\n") }
        skip((end ?? bytes.count) - head)
        isSkippingPiece = end == nil
        return end != nil
    }
}
