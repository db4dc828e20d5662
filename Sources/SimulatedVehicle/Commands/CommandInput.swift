import OpenXCProtocol

/// How firmware 8.2.1 reads what its host sends: a small queue of bytes, read in the payload format in force. It is
/// much less patient than a relay is.
struct CommandInput: Sendable {
    /// Bytes of the queue; a command has to fit.
    static let queueBytes = 383
    /// Fewer bytes are not examined until more come.
    static let fewestBytes = 3

    private var queue: [UInt8] = []

    /// Handles the bytes of one read.
    ///
    /// - Parameter take: gets each message; returns the format for those after it.
    mutating func receive(
        _ bytes: some Sequence<UInt8>, in format: PayloadFormat,
        _ take: (Taken) -> PayloadFormat
    ) {
        var format = format
        for byte in bytes {
            // A full queue is discarded.
            if queue.count >= Self.queueBytes { queue = [] }
            queue.append(byte)
            if format == .json, byte == 0, queue.count >= Self.fewestBytes {
                format = readJSON(format, take)
            } else if format == .protobuf, isWhole {
                format = readProtobuf(format, take)
            }
        }
        // What has come of an incomplete message is lost, unless it has fewer than `fewestBytes`.
        if format == .protobuf, queue.count >= Self.fewestBytes { queue = [] }
    }

    enum Taken {
        /// - Parameter text: the JSON as it was received; nil in protobuf.
        case message(VehicleMessage, text: [UInt8]?)
        /// JSON, but not a valid message.
        case invalid
    }

    /// The queue ends with a NUL. Everything before the first brace is skipped. Bytes that are not JSON stay, and
    /// block what comes after them until the queue is full.
    private mutating func readJSON(
        _ format: PayloadFormat, _ take: (Taken) -> PayloadFormat
    ) -> PayloadFormat {
        guard let start = queue.firstIndex(of: UInt8(ascii: "{")) else {
            queue = []
            return format
        }
        guard let end = queue[start...].firstIndex(of: 0) else { return format }
        let text = Array(queue[start..<end])
        do throws(MessageProblem) {
            let message = try VehicleMessage(json: text.span)
            queue = []
            return take(.message(message, text: text))
        } catch {
            if error == .notJSON || error == .tooDeep { return format }
            queue = []
            return take(.invalid)
        }
    }

    /// Where the message lies in the queue; nil until its length has arrived.
    private var body: Range<Int>? {
        guard let first = queue.first else { return nil }
        if first < 0x80 { return 1..<1 + Int(first) }
        guard queue.count > 1, queue[1] < 0x80 else { return nil }
        let count = Int(first & 0x7F) | Int(queue[1]) << 7
        return 2..<2 + count
    }

    private var isWhole: Bool {
        body.map { $0.upperBound <= queue.count && $0.count > 0 } ?? false
    }

    private mutating func readProtobuf(
        _ format: PayloadFormat, _ take: (Taken) -> PayloadFormat
    ) -> PayloadFormat {
        guard let body else { return format }
        let bytes = Array(queue[body])
        queue = []
        guard let message = try? VehicleMessage(protobuf: bytes) else { return take(.invalid) }
        return take(.message(message, text: nil))
    }
}
