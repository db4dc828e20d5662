/// Finds the answers to `version` and `device_id` among an OpenXC interface's messages, in JSON and in protobuf.
/// `OpenXCInquiry` passes it the incoming bytes, for two seconds at most.
struct OpenXCAnswers {
    /// Bytes examined together: several times the longest message, 340 bytes (OpenXC firmware).
    private static let windowBytes = 2048

    /// The latest bytes.
    private var window: [UInt8] = []
    /// How far the window has been searched for the ends of JSON objects.
    private var jsonSearched = 0
    /// The index after the last of these ends.
    private var objectStart = 0
    /// Messages that begin before this index have been examined in full.
    private var protobufSearched = 0

    mutating func add(_ bytes: UnsafeRawBufferPointer, to identity: inout OpenXCInquiry.Identity) {
        // A transfer may be longer than the window; then it is examined in parts.
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = rest.prefix(Self.windowBytes)
            rest = rest.dropFirst(part.count)
            window.append(contentsOf: part)
            searchJSON(&identity)
            searchProtobuf(&identity)
            if window.count > Self.windowBytes { forget(window.count - Self.tailBytes) }
        }
    }

    /// More than one message: the possible beginning of the next one stays.
    private static let tailBytes = 512

    private mutating func forget(_ count: Int) {
        window.removeFirst(count)
        jsonSearched = max(0, jsonSearched - count)
        objectStart = max(0, objectStart - count)
        protobufSearched = max(0, protobufSearched - count)
    }

    /// Examines each object once, when its end has come: an interface that sends nothing but beginnings costs no
    /// more than others.
    private mutating func searchJSON(_ identity: inout OpenXCInquiry.Identity) {
        for index in jsonSearched..<window.count where window[index] == UInt8(ascii: "}") {
            let start = max(objectStart, index + 1 - Self.tailBytes)
            objectStart = index + 1
            let object = window[start...index].drop { $0 != UInt8(ascii: "{") }
            guard !object.isEmpty else { continue }
            if identity.version == nil { identity.version = Self.json("version", object) }
            if identity.deviceID == nil { identity.deviceID = Self.json("device_id", object) }
        }
        jsonSearched = window.count
    }

    private mutating func searchProtobuf(_ identity: inout OpenXCInquiry.Identity) {
        for index in protobufSearched..<window.count {
            let rest = window[index...]
            if identity.version == nil { identity.version = Self.protobuf(1, rest) }
            if identity.deviceID == nil { identity.deviceID = Self.protobuf(2, rest) }
        }
        protobufSearched = max(protobufSearched, window.count - Self.protobufBytes)
    }

    /// The longest answer in protobuf: its head, and a text whose length is one byte.
    private static let protobufBytes = 9 + 255

    // MARK: JSON

    /// `{"command_response":"version","message":"8.2.1 (default)","status":true}`, fields in any
    /// order (OpenXC message format, "Command Response").
    private static func json(_ command: String, _ object: ArraySlice<UInt8>) -> String? {
        guard field("command_response", object) == Array(command.utf8),
            let message = field("message", object)
        else { return nil }
        return text(message)
    }

    /// The text of a field, exactly as it stands between its quotes.
    private static func field(_ name: String, _ object: ArraySlice<UInt8>) -> [UInt8]? {
        let key = Array("\"\(name)\"".utf8)
        var rest = object
        while rest.count > key.count, !rest.starts(with: key) { rest = rest.dropFirst() }
        rest = rest.dropFirst(key.count).drop { $0 == 0x20 }
        guard rest.first == UInt8(ascii: ":") else { return nil }
        rest = rest.dropFirst().drop { $0 == 0x20 }
        guard rest.first == UInt8(ascii: "\"") else { return nil }
        rest = rest.dropFirst()
        guard let end = rest.firstIndex(of: UInt8(ascii: "\"")) else { return nil }
        return Array(rest[..<end])
    }

    // MARK: Protobuf

    /// Length, field 1 (type) = 5 (command response), field 6 = { 1: command, 2: message, 3: status }.
    private static func protobuf(_ command: UInt8, _ bytes: ArraySlice<UInt8>) -> String? {
        let start = bytes.startIndex
        let head = 8
        guard bytes.count > head else { return nil }
        let (length, inner) = (Int(bytes[start]), Int(bytes[start + 4]))
        let (id, textLength) = (bytes[start + 6], Int(bytes[start + 8]))
        guard bytes[start + 1] == 0x08, bytes[start + 2] == 5, bytes[start + 3] == 0x32,
            bytes[start + 5] == 0x08, id == command, bytes[start + 7] == 0x12,
            length == inner + 4, textLength + 4 <= inner, bytes.count >= head + 1 + textLength
        else { return nil }
        return text(bytes[(start + head + 1)...].prefix(textLength))
    }

    // MARK: Text

    /// Longer texts are cut: the longest message has 127 bytes (OpenXC firmware).
    private static let maximumTextBytes = 127

    /// The text up to a zero byte, without characters that a terminal might obey; nil when nothing is left.
    static func text(_ bytes: some Sequence<UInt8>) -> String? {
        let clean = bytes.prefix { $0 != 0 }.prefix(maximumTextBytes)
            .map { (0x20..<0x7F).contains($0) ? $0 : UInt8(ascii: "?") }
        let text = String(decoding: clean, as: UTF8.self)
        return text.allSatisfy { $0 == " " } ? nil : text
    }
}
