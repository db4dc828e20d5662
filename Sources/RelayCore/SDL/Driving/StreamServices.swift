// Who uses the audio and video services of sessions: the app, or relayd in its place. Pure; kept by
// `SessionRouter`.

import NIOCore
import SDLProtocol

/// The events of an audio or video service that relayd has asked for, in this order.
package enum StreamNews: Hashable, Sendable {
    case granted(StreamGrant)
    /// The head unit's refusal, with the names of the parameters that it rejects.
    case refused(parameters: [String], reason: String?)
    /// The head unit has not answered StartService in time, or not before the service was given up.
    case unanswered
    /// The head unit has ended the service.
    case endedByAccessory
    /// The head unit has confirmed the end that relayd asked for, or has refused it or not answered in time.
    case ended(isConfirmed: Bool)
    /// The session or the link has ended.
    case sessionOver
}

/// What the head unit grants for audio or video.
package struct StreamGrant: Hashable, Sendable {
    /// The protocol version of the session.
    package var version: UInt8
    /// As the head unit named it; nil before protocol version 5, and where the head unit named none.
    package var videoProtocol: String?

    package init(version: UInt8, videoProtocol: String? = nil) {
        (self.version, self.videoProtocol) = (version, videoProtocol)
    }
}

/// The audio and video services in use, by session.
///
/// While relayd uses a service, everything that the head unit says about it is for relayd: a session has one
/// service of each kind, and nothing in the answers tells who has asked.
struct StreamServices {
    struct Key: Hashable {
        var session: UInt8
        var service: ServiceType

        init(_ session: UInt8, _ service: ServiceType) {
            (self.session, self.service) = (session, service)
        }

        init(_ frame: Frame) { self.init(frame.sessionID, frame.service) }
    }

    enum User: Hashable {
        /// The app has asked for the service, or runs it if the head unit has granted it.
        case app(isRunning: Bool)
        /// The head unit has ended it, and the app may still confirm that until this time. Not all apps do: sdl_ios
        /// does not.
        case leaving(until: NIODeadline)
        case relay(Own)
    }

    struct Own: Hashable {
        enum Step: Hashable {
            /// StartService has been sent.
            case starting
            case running
            /// EndService has been sent.
            case ending
            /// StartService has been sent, but nobody waits for the answer any more; a service granted all the same
            /// is ended.
            case givenUp
        }

        var id: OwnRequestID
        var step: Step
        /// When the lack of an answer from the head unit is reported; nil while nobody waits for an answer.
        var deadline: NIODeadline?
    }

    /// How long the head unit has to confirm the end of a service. sdl_core gives apps a second.
    static let patience = TimeAmount.seconds(2)

    private var users: [Key: User] = [:]
    /// The number of services that relayd uses.
    private(set) var ownCount = 0

    subscript(key: Key) -> User? {
        get { users[key] }
        set {
            if case .relay = users[key] { ownCount -= 1 }
            if case .relay = newValue { ownCount += 1 }
            users[key] = newValue
        }
    }

    func own(_ key: Key) -> Own? {
        guard ownCount > 0, case .relay(let own) = users[key] else { return nil }
        return own
    }

    func key(of id: OwnRequestID) -> Key? {
        users.first { if case .relay(let own) = $0.value { own.id == id } else { false } }?.key
    }

    /// Whether relayd uses a service in the session.
    func isRelays(_ session: UInt8) -> Bool {
        ownCount > 0
            && users.contains {
                if case .relay = $0.value { $0.key.session == session } else { false }
            }
    }

    var nextDeadline: NIODeadline? {
        guard ownCount > 0 else { return nil }
        return users.values.compactMap {
            if case .relay(let own) = $0 { own.deadline } else { nil }
        }.min()
    }

    /// relayd's services whose answer is overdue, by session and service.
    func overdue(at now: NIODeadline) -> [(key: Key, own: Own)] {
        guard ownCount > 0 else { return [] }
        return users.compactMap { key, user in
            guard case .relay(let own) = user, let deadline = own.deadline, deadline <= now else {
                return nil
            }
            return (key, own)
        }.sorted {
            ($0.key.session, $0.key.service.rawValue) < ($1.key.session, $1.key.service.rawValue)
        }
    }

    /// Ends the services of a session, or with nil of all sessions.
    ///
    /// - Returns: relayd's services for whose news somebody waits.
    mutating func end(_ session: UInt8?) -> [OwnRequestID] {
        guard !users.isEmpty else { return [] }
        var ended: [OwnRequestID] = []
        for (key, user) in users where session == nil || key.session == session {
            self[key] = nil
            if case .relay(let own) = user, own.step != .givenUp { ended.append(own.id) }
        }
        return ended.sorted { $0.rawValue < $1.rawValue }
    }
}
