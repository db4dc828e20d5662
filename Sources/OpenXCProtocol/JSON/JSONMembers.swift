/// The members of one object, by their keys. If a key occurs twice, the last one counts. Keys that
/// OpenXC does not know are skipped.
struct JSONMembers {
    enum Key: Int {
        case action, bus, bypass, command, commandResponse, data, decodedType, diagnosticRequest
        case enabled, event, extras, format, frame, frameFormat, frequency, host, id, message
        case messageID, metadata, mode, multipleResponses, name, negativeResponseCode, payload, pid
        case port, request, server, status, success, timestamp, totalSize, unixTime, value
    }

    private var tokens = InlineArray<35, JSONToken>(repeating: JSONToken())
    /// The range of the whole object, brackets included.
    private(set) var range = 0..<0

    /// Reads the object whose bracket is at `at`, and moves `at` past it.
    init(_ text: Span<UInt8>, _ at: inout Int) throws(JSONStop) {
        let start = at
        guard at < text.count else { throw .incomplete }
        guard text[at] == UInt8(ascii: "{") else { throw .malformed(.notJSON, at: at) }
        at += 1
        try JSONCursor.skipBlanks(text, &at)
        if text[at] == UInt8(ascii: "}") {
            at += 1
        } else {
            while true {
                let key = try JSONCursor.key(text, &at)
                let value = try JSONCursor.value(text, &at)
                if let key = Self.key(text, key.content) { tokens[key.rawValue] = value }
                try JSONCursor.skipBlanks(text, &at)
                let byte = text[at]
                guard byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") else {
                    throw .malformed(.notJSON, at: at)
                }
                at += 1
                if byte == UInt8(ascii: "}") { break }
                try JSONCursor.skipBlanks(text, &at)
            }
        }
        range = start..<at
    }

    /// Null counts as absent: some clients send it for "nothing".
    @inline(__always)
    func has(_ key: Key) -> Bool {
        let kind = tokens[key.rawValue].kind
        return kind != .absent && kind != .null
    }

    /// The position of the value of `key`, unless it is absent or null.
    @inline(__always)
    subscript(key: Key) -> JSONToken? {
        let token = tokens[key.rawValue]
        return token.kind == .absent || token.kind == .null ? nil : token
    }

    // No key of OpenXC needs an escape.
    private static func key(_ text: Span<UInt8>, _ range: Range<Int>) -> Key? {
        @inline(__always)
        func reads(_ word: StaticString) -> Bool {
            for offset in 0..<word.utf8CodeUnitCount
            where text[range.lowerBound + offset] != word.utf8Start[offset] {
                return false
            }
            return true
        }
        switch range.count {
        case 2:
            if reads("id") { return .id }
        case 3:
            if reads("bus") { return .bus }
            if reads("pid") { return .pid }
        case 4:
            if reads("name") { return .name }
            if reads("data") { return .data }
            if reads("mode") { return .mode }
            if reads("host") { return .host }
            if reads("port") { return .port }
        case 5:
            if reads("value") { return .value }
            if reads("event") { return .event }
            if reads("frame") { return .frame }
        case 6:
            if reads("status") { return .status }
            if reads("extras") { return .extras }
            if reads("action") { return .action }
            if reads("bypass") { return .bypass }
            if reads("format") { return .format }
            if reads("server") { return .server }
        case 7:
            if reads("success") { return .success }
            if reads("payload") { return .payload }
            if reads("message") { return .message }
            if reads("command") { return .command }
            if reads("request") { return .request }
            if reads("enabled") { return .enabled }
        case 8:
            if reads("metadata") { return .metadata }
        case 9:
            if reads("timestamp") { return .timestamp }
            if reads("frequency") { return .frequency }
            if reads("unix_time") { return .unixTime }
        case 10:
            if reads("message_id") { return .messageID }
            if reads("total_size") { return .totalSize }
        case 12:
            if reads("frame_format") { return .frameFormat }
            if reads("decoded_type") { return .decodedType }
        case 16:
            if reads("command_response") { return .commandResponse }
        case 18:
            if reads("diagnostic_request") { return .diagnosticRequest }
            if reads("multiple_responses") { return .multipleResponses }
        case 22:
            if reads("negative_response_code") { return .negativeResponseCode }
        default: break
        }
        return nil
    }
}
