// Fuzz targets: what a vehicle interface and its clients send, in both forms.

import NIOCore
import OpenXCProtocol
import OpenXCTraffic
import RelayCore

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
            "what can be written is read as the same message, unless another seems to begin inside, and "
            + "nothing longer than a message is kept",
        words: { ["\u{2}\u{8}", "name", "value", "payload"] },
        run: { bytes in
            try OpenXCWorld.read(bytes, .nextBeginning) { message in
                var written: [UInt8] = []
                do throws(MessageProblem) {
                    try message.appendProtobuf(to: &written)
                } catch {
                    return
                }
                // JSON allows longer messages than protobuf does.
                guard written.count <= VehicleMessageReader.maximumProtobufBytes,
                    !OpenXCWorld.seemsToHoldAnother(written)
                else { return }
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

extension FuzzTarget {
    static let openXCTraffic = FuzzTarget(
        name: "openxc-traffic",
        about: "what is kept of a vehicle interface's messages, and how they are told",
        promise:
            "what is kept is bounded, and no line has a control character or grows with what peers send",
        words: { OpenXCWords.keys },
        run: { bytes in
            var facts = VehicleFacts()
            var asked = DiagnosticConversation(DiagnosticRequest(id: 0x7DF, mode: 1, pid: 12))
            var second: UInt64 = 0
            try OpenXCWorld.read(bytes, .nextBeginning) { message in
                // Time moves forward, and occasionally back.
                second = second &* 31 &+ 7
                let time = NIODeadline.uptimeNanoseconds(second % 100 * 1_000_000_000)
                facts.heard(
                    message,
                    at: VehicleTime(WallTime(nanoseconds: 0), steady: time))
                if case .diagnostic(let response) = message.content { asked.heard(response) }
                let text = VehicleText.words(message)
                try ensure(
                    text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F },
                    "a control character in \(text)")
                try ensure(text.utf8.count <= 16 << 10, "a line of \(text.utf8.count) bytes")
                for signal in facts.allSignals {
                    try ensure(
                        signal.history.values.count <= ValueHistory.seconds
                            && signal.arrival.rate(at: time) >= 0,
                        "\(signal)")
                }
            }
            try ensure(
                facts.allSignals.count <= VehicleFacts.maximumSignals
                    && facts.allCAN.count <= VehicleFacts.maximumCAN
                    && facts.allDiagnostics.count <= VehicleFacts.maximumDiagnostics
                    && asked.answers.count <= DiagnosticConversation.maximumAnswers,
                "more is kept than may be")
            for known in facts.allDiagnostics {
                try ensure(
                    known.response.payload?.count ?? 0 <= SegmentJoiner.maximumBytes,
                    "an answer of \(known.response.payload?.count ?? 0) bytes")
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
    /// Whether something that looks like the beginning of another message, in protobuf or JSON, occurs after
    /// that of this one. A text that contains one is taken for a length that covers messages.
    static func seemsToHoldAnother(_ written: [UInt8]) -> Bool {
        written.indices.dropFirst(3).dropLast(2).contains { at in
            let (first, second, third) = (written[at], written[at + 1], written[at + 2])
            return first == 0x08 && (1...6).contains(second) && third == (second + 1) << 3 | 2
                || first == UInt8(ascii: "{") && second == UInt8(ascii: "\"")
        }
    }

    /// Reads the bytes in pieces whose size depends on the bytes, and all at once; both must give the same
    /// result.
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
