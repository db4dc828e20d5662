// What leaves the hot path: frames and events in the order they happened, made by `Switchboard`,
// carried by `TapQueue`, read by the sinks' owners.

package import NIOCore
package import SDLProtocol

/// Who sent a frame.
package enum Direction: Hashable, Sendable {
    case fromApp
    case fromAccessory
}

package enum FrameFate: Hashable, Sendable {
    /// Passed on untouched.
    case forwarded
    /// Passed on without its secondary transport offers; the frame shown is the one passed on.
    case amended
    /// A frame as it came, which was not passed on: the amended one follows, or what a fault rule has made of
    /// it.
    case replaced
    /// Not sent by a peer but by relayd itself. `direction` tells on whose behalf: a farewell to the head
    /// unit counts as `fromApp`, a refusal to an app as `fromAccessory`.
    case byRelay
    /// Passed on, after a fault rule had done something to it.
    case faulted(FaultMark)
    /// Not passed on.
    case dropped(DropReason)
}

extension FrameFate {
    /// Whether it was passed on, and came from a peer.
    package var isPeers: Bool {
        switch self {
        case .forwarded, .amended, .faulted: true
        case .replaced, .byRelay, .dropped: false
        }
    }

    /// Whether the frame has passed once already, and a fault rule lets it pass once more.
    var isRepeated: Bool {
        if case .faulted(let mark) = self { mark.kind == .repeated } else { false }
    }
}

/// One frame on its way past the tap.
package struct TappedFrame: Sendable {
    package var frame: Frame
    package var direction: Direction
    /// The app that sent it or owns its session; nil when nobody does.
    package var app: AppID?
    /// When the read that brought it was made; frames of one read share it.
    package var time: WallTime
    package var fate: FrameFate
    /// The meaning of an RPC StartServiceACK that an app gets; nil for every other frame.
    package var grant: GrantMeaning?
    /// Whether it is a StartService that has to wait in relayd, which asks for one session at a time.
    /// `SessionEvent.startSent` tells when it is sent.
    package var isWaiting = false
    /// Whether it is told again to a sink that came later: it has passed before.
    package var isEarlier = false

    package init(
        frame: Frame, direction: Direction, app: AppID?, time: WallTime,
        fate: FrameFate = .forwarded, grant: GrantMeaning? = nil, isWaiting: Bool = false
    ) {
        self.frame = frame
        self.direction = direction
        self.app = app
        self.time = time
        self.fate = fate
        self.grant = grant
        self.isWaiting = isWaiting
    }

    /// Whether it is part of the head unit's answer to a request of relayd's: it reaches no app, and is a
    /// message like others.
    package var isAnswerToRelay: Bool {
        fate == .dropped(.answersRelay) && frame.service.carriesRPC && frame.type != .control
    }

    /// Whether it is what the head unit says about a service that relayd uses in an app's place.
    package var isControlToRelay: Bool {
        fate == .dropped(.answersRelay) && frame.type == .control
    }
}

/// Bytes from a peer that were no frame, as they came.
package struct TappedBytes: Sendable {
    package var bytes: ByteBuffer
    package var direction: Direction
    /// The app that sent them; nil for the head unit.
    package var app: AppID?
    /// Stream position of the first byte, counted from 0.
    package var offset: UInt64
    package var time: WallTime

    package init(
        bytes: ByteBuffer, direction: Direction, app: AppID?, offset: UInt64, time: WallTime
    ) {
        self.bytes = bytes
        self.direction = direction
        self.app = app
        self.offset = offset
        self.time = time
    }
}

/// Frames and events, in order.
package enum TapItem: Sendable {
    /// Frames in the order they passed.
    case frames([TappedFrame])
    /// Bytes that were no frame; not for the observers, nor for sinks that get headers only.
    case bytes(TappedBytes)
    case appConnected(AppID, peer: String, time: WallTime)
    /// All that is known of the app may be forgotten.
    case appClosed(AppID, reason: String, time: WallTime)
    /// What the router reports of a session whose app goes on.
    case session(SessionEvent, AppID, time: WallTime)
    /// `number` counts the links since relayd started, from 1.
    case linkOpened(number: Int, address: String, time: WallTime)
    /// All sessions are gone; unfinished messages and unanswered requests will remain so.
    case linkClosed(reason: String, time: WallTime)
    /// The reader was too slow: this much was forwarded without being shown to it.
    case missed(frames: Int, bytes: Int)
    /// The hub noticed something about an app, or with nil about the head unit.
    case noticed(RelayNotice, AppID?, time: WallTime)
    /// Something to be placed between the frames; not for the observers.
    case noted(TapNote, time: WallTime)
}

/// What `SessionRouter` knows of sessions, told right after the frames that it follows from: no frame shows
/// it, or only to those who know as much as the router.
package enum SessionEvent: Hashable, Sendable {
    /// The app's StartService that has waited longest (`TappedFrame.isWaiting`) is sent to the head unit now.
    case startSent
    /// The session with this number is over, whether or not a frame says so.
    case ended(UInt8)
    /// An audio or video service is over in a session that goes on. When a session ends, so do its services.
    case serviceEnded(ServiceType, session: UInt8)
    /// The app's EndService carries another hash ID than the session was granted with.
    case wrongHash(WrongHash, session: UInt8)
    /// The head unit offers a second transport that bypasses relayd, which has passed the offer on or removed
    /// it.
    case transportOffered(session: UInt8, isPassedOn: Bool)
}

extension SessionEvent {
    /// The session that the event is about; nil when it has no number yet.
    package var session: UInt8? {
        switch self {
        case .startSent: nil
        case .ended(let session), .serviceEnded(_, let session), .wrongHash(_, let session),
            .transportOffered(let session, _):
            session
        }
    }

    /// The audio or video service that the event is about.
    package var service: ServiceType? {
        if case .serviceEnded(let service, _) = self { service } else { nil }
    }
}

/// What somebody wants to find in recordings, at its place between the frames.
package enum TapNote: Hashable, Sendable {
    /// A place that a person wants to find again.
    case mark(String)
    /// - Parameter app: Nil when the advice is about no app.
    case advice(code: String, text: String, app: AppID?)

    /// For people.
    package var text: String {
        switch self {
        case .mark(let text), .advice(_, let text, _): text
        }
    }
}

/// Observes what passes the tap, off the event loop.
package protocol FrameObserver: Sendable {
    /// Items arrive in order; the next batch waits until this one is done. An empty batch means that only
    /// time has passed.
    ///
    /// - Returns: After how long to call again even if nothing comes; nil while nothing is due.
    @discardableResult
    func observe(_ items: [TapItem]) async -> Duration?
}
