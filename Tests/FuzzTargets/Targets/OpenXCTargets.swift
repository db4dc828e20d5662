// Fuzz targets: what a vehicle interface and its clients send, in both forms.

import OpenXCProtocol

extension FuzzTarget {
    static let openXCJSON = FuzzTarget(
        name: "openxc-json",
        about: "OpenXC messages as JSON: a stream in pieces, and what is written from it",
        promise:
            "what was read is written in ASCII in one line, is read as the same message, and nothing "
            + "longer than a message is kept",
        words: { OpenXCWords.keys },
        run: { bytes in
            for recovery in [VehicleMessageReader.Recovery.nextBeginning, .nextPiece] {
                try OpenXCWorld.read(bytes, recovery) { message in
                    var text: [UInt8] = []
                    message.appendJSON(to: &text)
                    try ensure(
                        text.allSatisfy { (0x20..<0x7F).contains($0) },
                        "not ASCII in a line: \(String(decoding: text, as: UTF8.self))")
                    let again: VehicleMessage
                    do {
                        again = try VehicleMessage(json: text.span)
                    } catch {
                        throw BrokenPromise(
                            "\(error): \(String(decoding: text, as: UTF8.self))")
                    }
                    try ensure(
                        again.json == message.json,
                        "\(message.json) becomes \(again.json)")
                }
            }
        })

    static let openXCProtobuf = FuzzTarget(
        name: "openxc-protobuf",
        about: "OpenXC messages as protobuf: a stream in pieces, and what is written from it",
        promise:
            "what can be written is read as the same message, and nothing longer than a message "
            + "is kept",
        words: { ["\u{2}\u{8}", "name", "value", "payload"] },
        run: { bytes in
            try OpenXCWorld.read(bytes, .nextBeginning) { message in
                var written: [UInt8] = []
                do throws(MessageProblem) {
                    try message.appendProtobuf(to: &written)
                } catch {
                    return
                }
                // JSON has room for more than a protobuf message may be long.
                guard written.count <= VehicleMessageReader.maximumProtobufBytes else { return }
                var reader = VehicleMessageReader(recovery: .nextBeginning)
                reader.append(written)
                guard let again = reader.next() else {
                    throw BrokenPromise("\(message.json) cannot be read: \(reader.counts)")
                }
                var twice: [UInt8] = []
                try again.appendProtobuf(to: &twice)
                try ensure(twice == written, "\(message.json) becomes \(again.json)")
            }
        })
}

private enum OpenXCWords {
    static let keys =
        [
            "name", "value", "event", "timestamp", "bus", "id", "message_id", "data",
            "frame_format",
            "mode", "pid", "success", "negative_response_code", "payload", "frame", "total_size",
            "command_response", "message", "status", "command", "request", "action",
            "diagnostic_request",
            "payload_format", "passthrough", "extras", "metadata", "0x", "1e400", "\\ud800", "true",
        ].map { "\"\($0)\"" } + ["{\"", "\":", "}\0"]
}

private enum OpenXCWorld {
    /// Reads the bytes in pieces whose sizes follow from them, and whole; both must come to the same.
    static func read(
        _ bytes: UnsafeRawBufferPointer, _ recovery: VehicleMessageReader.Recovery,
        _ body: (VehicleMessage) throws -> Void
    ) throws {
        var reader = VehicleMessageReader(recovery: recovery)
        var rest = Array(bytes)[...]
        let size = Int(rest.first ?? 0) % 37 + 1
        while !rest.isEmpty {
            reader.append(rest.prefix(size))
            rest = rest.dropFirst(size)
            while let message = reader.next() { try body(message) }
            try ensure(
                reader.pendingBytes <= VehicleMessageReader.maximumJSONBytes,
                "\(reader.pendingBytes) bytes are kept")
        }
        var whole = VehicleMessageReader(recovery: recovery)
        whole.append(Array(bytes))
        var count: UInt64 = 0
        while whole.next() != nil { count += 1 }
        try ensure(
            count == reader.counts.messages,
            "\(count) messages at once, \(reader.counts.messages) in pieces")
    }
}
