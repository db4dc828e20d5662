import NIOCore

/// Joins first and consecutive frames into messages; single frames pass through uncopied. Decoders
/// run one per direction of a link.
///
/// Messages are told apart by session, service and message ID, so messages of different sessions
/// may interleave, and even two of one session, which app libraries would not survive. Announced
/// sizes are used for comparison only: memory grows with the bytes that arrived, within `Limits`.
public struct MessageAssembler: Sendable {
    public struct Limits: Hashable, Sendable {
        /// Bytes kept of one message; the rest is only counted. RPC header and JSON come first, so
        /// what is cut off is bulk data. 16 MiB holds the files that real apps upload.
        public var maximumMessageBytes = 16 << 20
        /// Bytes kept of all unfinished messages together; beyond that the rest is only counted.
        public var maximumKeptBytes = 64 << 20
        /// Unfinished messages: one per session would do, apps may have 255.
        public var maximumUnfinished = 512
        /// Nanoseconds without a further frame after which a message is given up: sdl_core's
        /// `ExpectedConsecutiveFramesTimeout`, 10 s.
        public var expiry: Int64 = 10_000_000_000

        public init() {}
    }

    public enum Outcome: Sendable {
        /// The whole message is there. A problem tells how it differs from what was announced.
        case message(Message, AssemblyProblem?)
        /// Frames are to follow, or belong to a message already reported as broken.
        case incomplete
        /// The message will not become whole; what arrived in order is in it.
        case broken(Message, AssemblyProblem)
    }

    private struct Key: Hashable {
        var sessionID: UInt8
        var service: ServiceType
        var messageID: UInt32
    }

    private struct Unfinished {
        var message: Message
        var announcedBytes: Int
        var announcedFrames: Int
        var receivedFrames = 0
        /// Info of the next frame if it is not the last, which has 0.
        var nextInfo: UInt8 = 1
        var lastFrame: Int64
        /// Reported already; the rest of its frames is swallowed in silence.
        var isBroken = false
    }

    public let limits: Limits
    private var unfinished: [Key: Unfinished] = [:]
    private var keptBytes = 0
    /// Until this time, frames of messages whose beginning was not seen are not a peer's fault.
    private var gapEnds = Int64.min

    public init(limits: Limits = Limits()) {
        self.limits = limits
    }

    public var unfinishedMessages: Int { unfinished.count }

    /// Takes the next frame; control frames are no messages and change nothing.
    ///
    /// - Parameter now: Nanoseconds on any clock, the same for all calls.
    public mutating func receive(_ frame: Frame, at now: Int64) -> Outcome {
        switch frame.type {
        case .control: .incomplete
        case .single: .message(Message(single: frame), nil)
        case .first: begin(frame, at: now)
        case .consecutive: go(on: frame, at: now)
        }
    }

    private mutating func begin(_ frame: Frame, at now: Int64) -> Outcome {
        let key = Self.key(frame)
        let payload = frame.payload
        var message = Message(single: frame)
        message.payload = ByteBuffer()
        message.payloadBytes = 0
        var next = Unfinished(
            message: message, announcedBytes: 0, announcedFrames: 0, lastFrame: now)
        var outcome = Outcome.incomplete
        if let sizes = payload.getMultipleIntegers(
            at: payload.readerIndex, as: (UInt32, UInt32).self), payload.readableBytes == 8
        {
            (next.announcedBytes, next.announcedFrames) = (Int(sizes.0), Int(sizes.1))
        } else if !frame.isEncrypted {
            // An encrypted first frame, as old head units send it, hides its numbers.
            next.isBroken = true
            message.payload = payload
            message.payloadBytes = payload.readableBytes
            outcome = .broken(message, .malformedFirstFrame(bytes: payload.readableBytes))
        }
        if let old = remove(key), !old.isBroken {
            outcome = .broken(
                old.message,
                .restarted(received: old.receivedFrames, announced: old.announcedFrames))
        }
        if let full = makeRoom() { outcome = full }
        unfinished[key] = next
        return outcome
    }

    private mutating func go(on frame: Frame, at now: Int64) -> Outcome {
        let key = Self.key(frame)
        guard var message = remove(key) else { return beginBroken(frame, key: key, at: now) }
        message.lastFrame = now
        let isLast = frame.info == 0
        guard !message.isBroken else {
            if !isLast { unfinished[key] = message }
            return .incomplete
        }
        guard isLast || frame.info == message.nextInfo else {
            message.isBroken = true
            let found = message.message
            message.message.payload = ByteBuffer()
            unfinished[key] = message
            return .broken(found, .outOfOrder(expected: message.nextInfo, found: frame.info))
        }
        message.nextInfo = message.nextInfo == 255 ? 1 : message.nextInfo + 1
        message.receivedFrames += 1
        message.message.frames += 1
        if frame.isEncrypted { message.message.isEncrypted = true }
        keep(frame, in: &message.message)
        guard isLast else {
            keptBytes += message.message.payload.readableBytes
            unfinished[key] = message
            return .incomplete
        }
        return .message(message.message, problem(message))
    }

    /// Appends what may be kept; the message's bytes are not counted in `keptBytes` meanwhile.
    private func keep(_ frame: Frame, in message: inout Message) {
        let wasWhole = !message.isTruncated
        let payload = frame.payload
        message.payloadBytes += payload.readableBytes
        guard !message.isEncrypted else {
            message.payload = ByteBuffer()
            return
        }
        let have = message.payload.readableBytes
        let room = min(
            limits.maximumMessageBytes - have, limits.maximumKeptBytes - keptBytes - have)
        guard wasWhole, room > 0,
            let piece = payload.getSlice(
                at: payload.readerIndex, length: min(room, payload.readableBytes))
        else { return }
        message.payload.writeImmutableBuffer(piece)
    }

    /// How the message differs from what was announced. Encrypted messages have more bytes than
    /// announced, because only plain bytes are counted there.
    private func problem(_ message: Unfinished) -> AssemblyProblem? {
        guard message.announcedFrames > 0 else { return nil }
        if message.receivedFrames != message.announcedFrames {
            return .frameCount(
                received: message.receivedFrames, announced: message.announcedFrames)
        }
        if !message.message.isEncrypted, message.message.payloadBytes != message.announcedBytes {
            return .totalBytes(
                received: message.message.payloadBytes, announced: message.announcedBytes)
        }
        return nil
    }

    /// Begins a broken message with a consecutive frame that has no first frame: reported once; the
    /// rest is swallowed in silence.
    private mutating func beginBroken(_ frame: Frame, key: Key, at now: Int64) -> Outcome {
        let message = Message(single: frame)
        let full = makeRoom()
        if frame.info != 0 {
            var rest = Unfinished(
                message: message, announcedBytes: 0, announcedFrames: 0, lastFrame: now)
            rest.message.payload = ByteBuffer()
            rest.isBroken = true
            unfinished[key] = rest
        }
        if let full { return full }
        return now < gapEnds ? .incomplete : .broken(message, .noFirstFrame(info: frame.info))
    }

    // MARK: Giving up

    /// Gives up messages that got no frame for `Limits.expiry`.
    public mutating func expire(at now: Int64) -> [(Message, AssemblyProblem)] {
        guard !unfinished.isEmpty else { return [] }
        let late = unfinished.filter { now - $0.value.lastFrame >= limits.expiry }
        return giveUp(late.keys) {
            .expired(received: $0.receivedFrames, announced: $0.announcedFrames)
        }
    }

    /// Adjusts to the clock of `now` having been set forward by this many nanoseconds.
    public mutating func shift(by step: Int64) {
        for key in unfinished.keys { unfinished[key]?.lastFrame &+= step }
        if gapEnds != .min { gapEnds &+= step }
    }

    /// When `expire` has something to do; nil while nothing is unfinished.
    public var nextExpiry: Int64? {
        unfinished.values.map(\.lastFrame).min().map { $0 &+ limits.expiry }
    }

    /// Gives up messages that stay unfinished because their session, or with nil the link, has
    /// ended.
    public mutating func abandon(session: UInt8? = nil) -> [(Message, AssemblyProblem)] {
        guard !unfinished.isEmpty else { return [] }
        let gone = unfinished.keys.filter { session == nil || $0.sessionID == session }
        return giveUp(gone) {
            .abandoned(received: $0.receivedFrames, announced: $0.announcedFrames)
        }
    }

    /// Takes messages out; those that were reported already are not reported again.
    private mutating func giveUp(
        _ keys: some Sequence<Key>, _ problem: (Unfinished) -> AssemblyProblem
    ) -> [(Message, AssemblyProblem)] {
        keys.compactMap { remove($0) }.filter { !$0.isBroken }.map { ($0.message, problem($0)) }
    }

    /// Called when frames went by unseen: forgets all beginnings, and does not blame peers for
    /// missing ones.
    public mutating func skipGap(at now: Int64) {
        unfinished = [:]
        keptBytes = 0
        gapEnds = now.addingReportingOverflow(limits.expiry).partialValue
    }

    /// Takes a message out of the table and its bytes out of the account.
    private mutating func remove(_ key: Key) -> Unfinished? {
        guard let message = unfinished.removeValue(forKey: key) else { return nil }
        keptBytes -= message.message.payload.readableBytes
        return message
    }

    /// Gives up the message that waits longest when there are too many.
    private mutating func makeRoom() -> Outcome? {
        guard unfinished.count >= limits.maximumUnfinished,
            let oldest = unfinished.min(by: { $0.value.lastFrame < $1.value.lastFrame })?.key,
            let message = remove(oldest), !message.isBroken
        else { return nil }
        return .broken(message.message, .tooManyUnfinished(limit: limits.maximumUnfinished))
    }

    private static func key(_ frame: Frame) -> Key {
        Key(
            sessionID: frame.sessionID, service: frame.service, messageID: frame.messageID ?? 0)
    }
}
