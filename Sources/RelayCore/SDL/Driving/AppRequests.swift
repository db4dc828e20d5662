// The correlation IDs that an app uses in a session in which relayd sends requests as well. Pure; kept
// by `SessionRouter`.

import SDLProtocol

/// The unanswered requests that apps have sent in driven sessions.
///
/// Kept from relayd's first request in a session on, so that a session that nobody drives costs
/// nothing. relayd takes its IDs from a range that no library reaches; if the app uses one that relayd
/// has used in the session, its request goes on with another ID, and the answer gets the app's ID back.
struct AppRequests {
    /// The messages of a session are told apart by service and message ID.
    struct Key: Hashable {
        var session: UInt8
        var service: ServiceType
        var messageID: UInt32

        init(_ frame: Frame) {
            session = frame.sessionID
            service = frame.service
            messageID = frame.messageID ?? 0
        }
    }

    private struct Session {
        /// Correlation IDs without an answer.
        var unanswered: Set<Int32> = []
        /// The app's own IDs, by the IDs that its requests have on the link.
        var replaced: [Int32: Int32] = [:]
    }

    /// Per session; sdl_core refuses an app's requests beyond 5000 waiting ones. IDs beyond the
    /// maximum are not kept: until answers come, relayd may choose one that the app uses.
    static let maximum = 8192

    private var sessions: [UInt8: Session] = [:]
    /// Messages of apps whose first frame has passed but whose header has not.
    private var begun: Set<Key> = []

    mutating func begin(_ session: UInt8) {
        if sessions[session] == nil { sessions[session] = Session() }
    }

    mutating func end(_ session: UInt8) {
        guard sessions.removeValue(forKey: session) != nil else { return }
        begun = begun.filter { $0.session != session }
    }

    func isUsed(_ correlationID: Int32, in session: UInt8) -> Bool {
        guard let session = sessions[session] else { return false }
        return session.unanswered.contains(correlationID)
            || session.replaced[correlationID] != nil
    }

    /// Whether one more request may go by another ID: each is remembered, because its answer needs the
    /// app's own ID back.
    func mayReplace(in session: UInt8) -> Bool {
        sessions[session]?.replaced.count ?? 0 < Self.maximum
    }

    /// Whether one of the app's requests goes by this ID in place of its own.
    func isStandIn(_ correlationID: Int32, in session: UInt8) -> Bool {
        sessions[session]?.replaced[correlationID] != nil
    }

    /// The RPC header in this frame of an app, if it has one.
    mutating func header(in frame: Frame) -> RPCHeader? {
        guard frame.service.carriesRPC, !frame.isEncrypted, frame.version > 1 else { return nil }
        switch frame.type {
        case .single: return RPCHeader(frame.payload)
        case .first:
            if begun.count < Self.maximum { begun.insert(Key(frame)) }
            return nil
        case .consecutive:
            return begun.remove(Key(frame)) == nil ? nil : RPCHeader(frame.payload)
        case .control: return nil
        }
    }

    /// Notes that the frame has the header of a message whose first frame passed unseen.
    mutating func noteBegun(_ frame: Frame) {
        guard frame.type == .consecutive, begun.count < Self.maximum else { return }
        begun.insert(Key(frame))
    }

    /// Notes an app's request.
    ///
    /// - Parameter other: The ID that the request goes on with, because relayd uses the app's own.
    mutating func said(_ correlationID: Int32, in session: UInt8, insteadOf other: Int32?) {
        guard let known = sessions[session] else { return }
        if let other {
            sessions[session]?.replaced[other] = correlationID
        } else if known.unanswered.count < Self.maximum {
            sessions[session]?.unanswered.insert(correlationID)
        }
    }

    /// Notes the head unit's answer to a request that is not relayd's.
    ///
    /// - Returns: The app's own ID, if its request went by another one.
    mutating func answered(_ correlationID: Int32, in session: UInt8) -> Int32? {
        if let own = sessions[session]?.replaced.removeValue(forKey: correlationID) { return own }
        sessions[session]?.unanswered.remove(correlationID)
        return nil
    }
}
