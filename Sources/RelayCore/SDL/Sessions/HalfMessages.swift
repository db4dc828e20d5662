package import NIOCore
package import SDLProtocol

/// The messages of all sessions whose first frame has been written to the link and whose last has
/// not, and how relayd ends one in the place of an app that will not. Kept by `SessionRouter`.
///
/// sdl_core keeps an unfinished message for 10 s by connection, session and message ID, whatever its
/// service, and not even the end of the session drops it: the frames of the next app with that session
/// would be appended to it (multiframe_builder.cc; measured with sdl_core 8.2.0: wrong files stored with
/// SUCCESS). Frames are noted when they are written, not when they are received, because frames that
/// wait for a busy link may still be dropped.
package struct HalfMessages {
    /// Messages one session may have under way. Libraries send one at a time on each of the four
    /// services that carry messages; the head unit reserves memory for each.
    static let limitPerSession = 8

    package struct Half: Hashable, Sendable {
        package var session: UInt8
        /// 0 in v1, whose frames have none.
        package var messageID: UInt32
        package var version: UInt8
        package var service: ServiceType
        /// Bytes and consecutive frames the first frame announced.
        package var announcedBytes: UInt32
        package var announcedFrames: UInt32
        /// How many of them the head unit has taken; it does not append a frame that does not fit.
        package var bytes: UInt64 = 0
        package var frames: UInt32 = 0
        /// Sequence number of the latest frame.
        var lastInfo: UInt8 = 0
        /// When the latest frame was last seen on its way to the head unit, or was written: the latest
        /// moment at which the head unit may have got it, if it is no longer on its way.
        var movedAt = NIODeadline.uptimeNanoseconds(0)
        /// When the latest frame was written: the head unit may have got it at once.
        var writtenAt = NIODeadline.uptimeNanoseconds(0)
        /// Bytes written to the link up to the end of the latest frame.
        var end: UInt64 = 0
        /// The latest frame was still on its way at the latest poll.
        var isOnWay = false
        /// At least one frame of it was a TLS record.
        package var isEncrypted = false
        /// From the RPC header in the first consecutive frame; nil until that has been written, and
        /// where there is none.
        package var functionID: UInt32?
        package var correlationID: Int32?
        /// Whether the message is a request, as far as its RPC header tells.
        var isRequest = true
        var pause = Pause.none
        /// relayd has passed the end of the message on, which may still wait for the link.
        var isEnding = false
    }

    /// What is known of a pause in which the head unit may have given the message up.
    ///
    /// sdl_core looks for such messages when it gets a frame, but appends that frame first. So a message
    /// goes on if nothing else has come meanwhile, on any session; otherwise it is refused, and the rest
    /// thrown away.
    enum Pause: Hashable, Sendable {
        /// No pause has been noticed.
        case none
        /// A frame came so late that the head unit may have given the message up.
        case late
        /// The app has sent all of a late message, and the answer has not come.
        case said
        /// The head unit has refused the message: it holds nothing of it, and owes no answer. The
        /// message is ended all the same, because the answer to another request may look like the
        /// refusal. An end that is not needed is discarded.
        case refused
    }

    /// What to do because of a frame that is about to be written.
    package enum Remark: Hashable, Sendable {
        /// The message has to be ended first: the frame begins another with the same message ID, or one
        /// more than a session may have.
        case endBefore(Half)
        /// The frame continues a message that the head unit may have given up.
        case late(Half)
    }

    private var open: [Half] = []
    /// The index of the latest frame's message: the frames of one message mostly come in a row.
    private var latest = 0
    /// Bytes that have left for the head unit, of all that were ever written.
    private var left = UInt64.max
    /// No message whose RPC header the head unit has only in part expires before this.
    private(set) var expiry = NIODeadline.distantFuture

    package init() {}

    package var isEmpty: Bool { open.isEmpty }

    package func count(of session: UInt8) -> Int { open.count { $0.session == session } }

    /// The unfinished messages of a session, oldest first. A message is taken out when its end is
    /// written: until then the end may still be dropped with everything of the session that waits.
    package func unfinished(of session: UInt8) -> [Half] {
        open.isEmpty ? [] : open.filter { $0.session == session }
    }

    /// Notes the head unit's answer to a message that it may have given up, if the frame is such an answer.
    ///
    /// - Returns: The message as it was before.
    mutating func noteRefusal(_ frame: Frame, at now: NIODeadline) -> Half? {
        guard !open.isEmpty, frame.type == .single, frame.version > 1, !frame.isEncrypted,
            let header = RPCHeader(frame.payload), header.type == .response,
            let index = open.firstIndex(where: {
                $0.session == frame.sessionID && $0.isSettled(by: header, at: now)
            })
        else { return nil }
        let half = open[index]
        if half.pause == .said {
            open.remove(at: index)
        } else {
            // A success is the answer to another request.
            guard !frame.tellsSuccess else { return nil }
            open[index].pause = .refused
        }
        return half
    }

    /// Whether the head unit may answer a message of the session before it has got all of it, or has not
    /// answered a late one.
    func awaitsAnswer(_ session: UInt8) -> Bool {
        open.contains { $0.session == session && $0.isAnswered }
    }

    /// Notes that relayd sends the end of the message.
    mutating func noteEnding(_ half: Half) {
        guard let index = index(of: half.session, half.messageID) else { return }
        open[index].isEnding = true
    }

    /// Notes that relayd's own end of a message is about to be written.
    ///
    /// - Returns: The message, taken out; nil when it has been ended before.
    mutating func takeEnded(by frame: Frame) -> Half? {
        index(of: frame).map { open.remove(at: $0) }
    }

    /// Takes out the session's messages that the app has finished too late. Nothing needs to end them;
    /// their answers are still due.
    mutating func takeSaid(of session: UInt8) -> [Half] {
        let said = unfinished(of: session).filter { $0.pause == .said }
        if !said.isEmpty { open.removeAll { $0.session == session && $0.pause == .said } }
        return said
    }

    /// Forgets the session's messages of TLS records, which nothing ends.
    mutating func removeEncrypted(of session: UInt8) {
        open.removeAll { $0.session == session && $0.isEncrypted }
    }

    /// Forgets all messages: the link is gone, and with it what the head unit held.
    package mutating func removeAll() {
        open = []
        left = .max
        latest = 0
        expiry = .distantFuture
    }

    /// Notes a first or consecutive frame of an app that is about to be written.
    ///
    /// - Parameter end: Bytes written to the link, including this frame.
    /// - Returns: What has to be done because of it.
    package mutating func willWrite(
        _ frame: Frame, upTo end: UInt64 = 0, at now: NIODeadline
    ) -> Remark? {
        switch frame.type {
        case .first: begin(frame, upTo: end, at: now).map { .endBefore($0) }
        case .consecutive: advance(frame, upTo: end, at: now).map { .late($0) }
        case .single, .control: nil
        }
    }

    // MARK: - On a link that does not take all at once

    /// Updates the age of the messages. The head unit counts from the moment it gets a frame, so one
    /// still on its way counts from now.
    ///
    /// - Parameter bytes: Bytes that have left for the head unit, of all that were ever written.
    mutating func polled(left bytes: UInt64, at now: NIODeadline) {
        left = bytes
        for index in open.indices {
            let isOnWay = open[index].end > bytes
            if isOnWay || open[index].isOnWay { open[index].movedAt = now }
            open[index].isOnWay = isOnWay
        }
    }

    /// Treats all frames as having left, because nobody polls any more.
    mutating func allLeft() {
        left = .max
        for index in open.indices { open[index].isOnWay = false }
    }

    // MARK: - The head unit's patience

    /// After this the head unit gives up a message whose next frame does not come (sdl_core:
    /// ExpectedConsecutiveFramesTimeout). It answers the app then, or when the next frame comes.
    static let lifetime = TimeAmount.seconds(10)

    /// How long the head unit may keep a message that ends inside its RPC header, measured from here: it
    /// reads the rest from its uninitialised heap, and answers an earlier request, whichever app's that
    /// was. A second less, because a frame is not written and read at the same moment.
    static let headlessLifetime = lifetime - .seconds(1)

    /// Takes out a message that the head unit would give up because of this frame, with an answer that
    /// nobody can foresee. A message that is still on its way itself arrives right before the frame.
    ///
    /// - Parameter now: When the frame will arrive.
    mutating func takeExpiring(before frame: Frame, at now: NIODeadline) -> Half? {
        let index = open.firstIndex {
            $0.isHeadless && $0.movedAt + Self.headlessLifetime <= now && $0.end <= left
                && !$0.goesOn(with: frame)
        }
        if let index { return open.remove(at: index) }
        let headless = open.lazy.filter(\.isHeadless).map { $0.movedAt + Self.headlessLifetime }
        expiry = headless.min() ?? .distantFuture
        return nil
    }

    /// Takes out the oldest message of the sessions when these would announce more than the limit
    /// together with the message that the frame begins.
    mutating func takeExceeding(before frame: Frame, in sessions: [UInt8], limit: Int) -> Half? {
        guard let announced = Announcement(frame) else { return nil }
        let others = open.indices.filter {
            sessions.contains(open[$0].session) && open[$0].pause != .said
                && (open[$0].session, open[$0].messageID) != (frame.sessionID, frame.messageID ?? 0)
        }
        let sum = others.reduce(UInt64(announced.bytes)) { $0 &+ UInt64(open[$1].announcedBytes) }
        guard sum > UInt64(clamping: limit), let oldest = others.first else { return nil }
        return open.remove(at: oldest)
    }

    /// Begins a message. One with the same ID has to be ended first, however old it is: sdl_core looks
    /// for messages to give up only after the frame, and refuses a first frame while it holds another
    /// message with the ID.
    ///
    /// - Returns: The message that has to be ended first.
    private mutating func begin(_ frame: Frame, upTo end: UInt64, at now: NIODeadline) -> Half? {
        let session = frame.sessionID
        var displaced: Half?
        if let index = index(of: frame) {
            let former = open.remove(at: index)
            if former.pause != .said { displaced = former }
        } else if open.count >= Self.limitPerSession,
            count(of: session) >= Self.limitPerSession,
            let oldest = open.firstIndex(where: { $0.session == session })
        {
            let former = open.remove(at: oldest)
            if former.pause != .said { displaced = former }
        }
        guard let announced = Announcement(frame) else { return displaced }
        latest = open.count
        expiry = min(expiry, now + Self.headlessLifetime)
        open.append(
            Half(
                session: session, messageID: frame.messageID ?? 0, version: frame.version,
                service: frame.service, announcedBytes: announced.bytes,
                announcedFrames: announced.frames, movedAt: now, writtenAt: now,
                end: end))
        return displaced
    }

    /// - Returns: The message when this is its first frame that comes too late.
    private mutating func advance(_ frame: Frame, upTo end: UInt64, at now: NIODeadline) -> Half? {
        guard let index = index(of: frame) else { return nil }
        let info = frame.info
        let isNews = open[index].pause == .none && now - open[index].movedAt >= Self.lifetime
        if isNews { open[index].pause = .late }
        let late = isNews ? open[index] : nil
        guard info != 0 else {
            if open[index].pause == .late, open[index].isToldByAnswer {
                open[index].pause = .said
            } else {
                open.remove(at: index)
            }
            return late
        }
        // sdl_core drops a frame that is out of order, and does not append one that is too long.
        let expected = open[index].lastInfo == .max ? 1 : open[index].lastInfo + 1
        guard info == expected else { return late }
        if open[index].frames == 0 { open[index].read(frame) }
        if frame.isEncrypted { open[index].isEncrypted = true }
        open[index].lastInfo = info
        open[index].movedAt = now
        open[index].writtenAt = now
        open[index].end = end
        open[index].isOnWay = false
        open[index].frames &+= 1
        let bytes = open[index].bytes &+ UInt64(frame.payloadBytes)
        if bytes <= UInt64(open[index].announcedBytes) { open[index].bytes = bytes }
        return late
    }

    private mutating func index(of frame: Frame) -> Int? {
        index(of: frame.sessionID, frame.messageID ?? 0)
    }

    private mutating func index(of session: UInt8, _ message: UInt32) -> Int? {
        if latest < open.count, open[latest].session == session,
            open[latest].messageID == message
        {
            return latest
        }
        guard
            let index = open.firstIndex(where: {
                $0.session == session && $0.messageID == message
            })
        else { return nil }
        latest = index
        return index
    }
}

extension HalfMessages.Half {
    fileprivate mutating func read(_ frame: Frame) {
        guard !frame.isEncrypted, version > 1, service == .rpc || service == .bulk,
            let header = RPCHeader(frame.payload)
        else { return }
        functionID = header.functionID
        correlationID = header.correlationID
        isRequest = header.type == .request
    }

    /// The function of the request that ends a message: no specification knows it, so the head unit
    /// does nothing but refuse it.
    package static let endingFunctionID: UInt32 = 0xFFFF
    /// An RPC header and one byte: with less, sdl_core reads its uninitialised heap.
    private static let endingBytes = RPCHeader.bytes + 1

    /// Whether the head unit may answer the end: it answers messages that are requests, each once.
    package var isAwaited: Bool {
        isRequest && !isEncrypted && (service == .rpc || service == .bulk) && pause != .refused
    }

    /// Whether its answer can be told from others. A v1 message has no binary header, and nobody has
    /// measured how a head unit treats its end. So the session is kept for as long as an answer may
    /// take, and everything that comes in it meanwhile is swallowed.
    package var isAnswered: Bool { isAwaited && version > 1 }

    /// Whether the head unit lacks part of the RPC header, by which its answer is recognised.
    fileprivate var isHeadless: Bool { isAnswered && bytes < UInt64(RPCHeader.bytes) }

    fileprivate func goesOn(with frame: Frame) -> Bool {
        frame.type == .consecutive && frame.sessionID == session && frame.messageID == messageID
    }

    /// Whether the head unit's own refusal of the message can be told from others.
    fileprivate var isToldByAnswer: Bool { isAnswered && correlationID != nil }

    /// Whether the header answers this message, which the head unit may have given up. It gets a frame
    /// no sooner than the frame is written, so what seems to answer a younger message answers another
    /// one with the same correlation ID.
    fileprivate func isSettled(by header: RPCHeader, at now: NIODeadline) -> Bool {
        isToldByAnswer && header.correlationID == correlationID
            && header.functionID == functionID
            && (pause != .none || now - writtenAt >= HalfMessages.lifetime)
    }

    /// The last frame that ends the message and makes the head unit throw it away: as a message that
    /// is incomplete, or, when it has only the first frame, as an unknown request.
    ///
    /// It must not fill the message exactly, or the head unit would take it for the whole one and
    /// store what it holds. Measured with sdl_core 8.2.0: one more byte than fits is not appended.
    ///
    /// - Parameter correlationID: The ID that the head unit's answer will have, unless the message has
    ///   already told its own.
    package func ending(correlationID: Int32) -> Frame {
        var payload = ByteBuffer()
        RPCHeader(
            type: .request, functionID: Self.endingFunctionID,
            correlationID: self.correlationID ?? correlationID, jsonBytes: 0
        ).write(to: &payload)
        payload.writeInteger(0, as: UInt8.self)
        if UInt64(announcedBytes) == bytes &+ UInt64(Self.endingBytes) {
            payload.writeInteger(0, as: UInt8.self)
        }
        return Frame(
            version: version, type: .consecutive, service: service, info: 0, sessionID: session,
            messageID: messageID, payload: payload)
    }
}

/// What a first frame announces (SDL protocol spec, "Multi-frame messages").
package struct Announcement: Hashable, Sendable {
    /// Payload bytes of all consecutive frames.
    package var bytes: UInt32
    /// Consecutive frames that follow.
    package var frames: UInt32

    /// Nil when the frame is no plain first frame.
    package init?(_ frame: Frame) {
        guard frame.type == .first else { return nil }
        let payload = frame.payload
        guard let bytes = payload.getInteger(at: payload.readerIndex, as: UInt32.self),
            let frames = payload.getInteger(at: payload.readerIndex + 4, as: UInt32.self)
        else { return nil }
        self.bytes = bytes
        self.frames = frames
    }
}
