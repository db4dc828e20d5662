// Multi-frame messages of the head unit in driven sessions. Their second frame shows whether they answer
// relayd. Pure; kept by `SessionRouter`.

import NIOCore
import SDLProtocol

struct DrivenAnswers {
    typealias Key = AppRequests.Key

    private enum Message {
        /// Its first frame is held back until the second one decides.
        case held(Frame)
        /// An answer to relayd.
        case own(Own)
        /// A further answer to a request already answered, or the rest of an answer that was not whole in
        /// time.
        case repeated
        /// A message that is not for relayd.
        case passed
    }

    private struct Own {
        var request: OwnRequests.Request
        var message: SDLProtocol.Message
        var latest: NIODeadline

        /// The caller waits no longer than it asked for, even while frames still come.
        var deadline: NIODeadline {
            min(latest + DrivenAnswers.patience, request.deadline ?? .distantFuture)
        }
    }

    /// What to do with a frame.
    enum Verdict {
        /// The frame is not part of a message under examination.
        case pass
        /// The frame is to be kept back.
        case hold
        /// The frame shows whose message it is; `first` was kept back.
        case begins(first: Frame, RPCHeader?)
        /// The frame is part of an answer to relayd that it does not complete, or that nobody waits for.
        case own
        /// The answer is whole.
        case whole(OwnRequests.Request, SDLProtocol.Message)
    }

    /// Messages examined at once. Head units finish one message of a session before they begin the next.
    static let maximum = 64
    /// After this long without a further frame, an answer is given up, as sdl_core gives up messages.
    static let patience = TimeAmount.seconds(10)

    private var messages: [Key: Message] = [:]

    var isEmpty: Bool { messages.isEmpty }

    /// Whether a message of this session is under examination, with its rest still to come.
    func isHalf(_ session: UInt8) -> Bool {
        !messages.isEmpty && messages.keys.contains { $0.session == session }
    }

    /// Takes a frame of the head unit that is not a control frame.
    mutating func receive(_ frame: Frame, limit: Int, at now: NIODeadline) -> Verdict {
        let key = Key(frame)
        switch frame.type {
        case .first:
            guard !frame.isEncrypted, messages.count < Self.maximum else { return .pass }
            messages[key] = .held(frame)
            return .hold
        case .consecutive:
            switch messages[key] {
            case nil: return .pass
            case .passed:
                if frame.info == 0 { messages[key] = nil }
                return .pass
            case .repeated:
                if frame.info == 0 { messages[key] = nil }
                return .own
            case .held(let first):
                messages[key] = frame.info == 0 ? nil : .passed
                return .begins(first: first, frame.isEncrypted ? nil : RPCHeader(frame.payload))
            case .own(var own):
                own.latest = now
                own.message.add(frame, limit: limit)
                guard frame.info == 0 else {
                    messages[key] = .own(own)
                    return .own
                }
                messages[key] = nil
                return .whole(own.request, own.message)
            }
        case .single, .control: return .pass
        }
    }

    /// Begins the message that this frame showed to be an answer to relayd. Returns it if the frame makes it
    /// whole.
    mutating func begin(
        _ frame: Frame, answering request: OwnRequests.Request, limit: Int, at now: NIODeadline
    ) -> SDLProtocol.Message? {
        var message = SDLProtocol.Message(single: frame)
        message.payload = ByteBuffer()
        message.payloadBytes = 0
        message.add(frame, limit: limit)
        guard frame.info != 0 else { return message }
        messages[Key(frame)] = .own(Own(request: request, message: message, latest: now))
        return nil
    }

    /// Drops the rest of the message that this frame showed to be a further answer to relayd.
    mutating func drop(_ frame: Frame) {
        if frame.info != 0 { messages[Key(frame)] = .repeated }
    }

    var nextDeadline: NIODeadline? {
        messages.values.compactMap { message in
            if case .own(let own) = message { own.deadline } else { nil }
        }.min()
    }

    /// Gives up answers that are not whole in time. Their remaining frames are discarded.
    mutating func takeOverdue(at now: NIODeadline) -> [OwnRequests.Request] {
        var overdue: [OwnRequests.Request] = []
        for (key, message) in messages {
            guard case .own(let own) = message, own.deadline <= now else { continue }
            messages[key] = .repeated
            overdue.append(own.request)
        }
        return overdue
    }

    /// - Parameter session: Nil for all sessions.
    /// - Returns: The requests whose answers will never be whole.
    mutating func end(_ session: UInt8?) -> [OwnRequests.Request] {
        guard !messages.isEmpty else { return [] }
        var ended: [OwnRequests.Request] = []
        for (key, message) in messages where session == nil || key.session == session {
            messages[key] = nil
            if case .own(let own) = message { ended.append(own.request) }
        }
        return ended
    }
}

extension SDLProtocol.Message {
    /// Bytes beyond `limit` are only counted.
    fileprivate mutating func add(_ frame: Frame, limit: Int) {
        var piece = frame.payload
        payloadBytes += piece.readableBytes
        frames += 1
        let room = limit - payload.readableBytes
        guard room > 0, let kept = piece.readSlice(length: min(room, piece.readableBytes)) else {
            return
        }
        payload.writeImmutableBuffer(kept)
    }
}
