// Which correlation IDs an app uses in a session in which relayd asks as well. Pure; kept by
// `SessionRouter`.

import SDLProtocol

/// The requests that an app has said in driven sessions and that are not answered.
///
/// Kept from the first request of relayd's own in a session on, so that one that nobody drives costs
/// nothing. An ID of relayd's is taken from a range that no library reaches; should the app come to it
/// all the same, the app's request goes on with another ID, and its answer gets the app's own again.
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
        /// The app's own ID by the one its request has on the link.
        var replaced: [Int32: Int32] = [:]
    }

    /// Of one session; sdl_core refuses an app's requests beyond 5000 waiting ones. Beyond it IDs are
    /// forgotten: those that are given then may be the app's, until answers come.
    static let maximum = 8192

    private var sessions: [UInt8: Session] = [:]
    /// Messages of apps whose first frame has passed, and whose header has not.
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

    /// Whether one more request may go by another ID: the answer needs the app's own again.
    func mayReplace(in session: UInt8) -> Bool {
        sessions[session]?.replaced.count ?? 0 < Self.maximum
    }

    /// Whether one of the app's requests goes by this ID in place of its own.
    func isStandIn(_ correlationID: Int32, in session: UInt8) -> Bool {
        sessions[session]?.replaced[correlationID] != nil
    }

    /// The header of an RPC, if this frame of an app has one.
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

    /// The frame has the header of a message whose first frame passed unseen.
    mutating func noteBegun(_ frame: Frame) {
        guard frame.type == .consecutive, begun.count < Self.maximum else { return }
        begun.insert(Key(frame))
    }

    /// An app's request.
    ///
    /// - Parameter other: The ID that it goes on with, because relayd has its own in use.
    mutating func said(_ correlationID: Int32, in session: UInt8, insteadOf other: Int32?) {
        guard let known = sessions[session] else { return }
        if let other {
            sessions[session]?.replaced[other] = correlationID
        } else if known.unanswered.count < Self.maximum {
            sessions[session]?.unanswered.insert(correlationID)
        }
    }

    /// The head unit has answered a request that is not relayd's.
    ///
    /// - Returns: The app's own ID, if its request went by another one.
    mutating func answered(_ correlationID: Int32, in session: UInt8) -> Int32? {
        if let own = sessions[session]?.replaced.removeValue(forKey: correlationID) { return own }
        sessions[session]?.unanswered.remove(correlationID)
        return nil
    }
}
