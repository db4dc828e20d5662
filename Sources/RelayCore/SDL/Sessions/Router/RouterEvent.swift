package import SDLProtocol

/// A notable event of a session; `HubReporter` reports it.
package enum RouterEvent<App: Hashable>: Hashable {
    case sessionOpened(App, SessionGrant)
    /// The session is no longer the app's, and the app goes on: the head unit has ended the session, has never
    /// confirmed its end, or has given its number away. Sessions of apps and links that are gone end with them.
    case sessionEnded(App, session: UInt8)
    /// An audio or video service is no longer used, in a session that goes on: the head unit has ended it or
    /// answered its end, or relayd no longer waits for that answer.
    case serviceEnded(App, session: UInt8, ServiceType)
    /// Goodbye was said for an app that left.
    case farewell(session: UInt8)
    /// The head unit granted an ID that another app still held.
    case sessionReassigned(from: App, session: UInt8)
    /// A StartService that has waited for its turn is sent to the head unit now.
    case startSent(App)
    case startServiceUnanswered(App)
    /// The head unit refused a session while so many were in use.
    case sessionRefused(App, inUse: Int)
    /// The app ends its session with a hash the head unit did not give.
    case wrongHash(App, session: UInt8, WrongHash)
    /// The head unit invites the app to connect around the relay; taken out, or passed on.
    case secondaryTransportOffered(App, session: UInt8, isPassedOn: Bool)
    /// A message that the app, which may have left, had sent only a part of was ended by relayd, cannot be ended,
    /// or may have been given up by the head unit; `EndedMessage.Cause` tells.
    case messageEnded(App?, EndedMessage)
    /// The app announced a larger message than it may.
    case messageTooLarge(App, bytes: Int)
    /// The head unit has answered a request of relayd's after nobody waited for it any more. The app that has
    /// the session now does not get the answer.
    case lateAnswer(App?, session: UInt8, FunctionID)
    /// The app did not answer the head unit's heartbeat in time; relayd did.
    case heartbeatAnswered(App, session: UInt8)
}

extension RouterEvent {
    /// What is told of the event to those who watch the traffic and follow the router. Nil for events that
    /// frames show, that are told as a notice, or that concern relayd alone.
    package var told: (app: App, event: SessionEvent)? {
        switch self {
        case .startSent(let app): (app, .startSent)
        case .sessionEnded(let app, let session): (app, .ended(session))
        case .serviceEnded(let app, let session, let service):
            (app, .serviceEnded(service, session: session))
        case .wrongHash(let app, let session, let hash): (app, .wrongHash(hash, session: session))
        case .secondaryTransportOffered(let app, let session, let isPassedOn):
            (app, .transportOffered(session: session, isPassedOn: isPassedOn))
        case .sessionOpened, .farewell, .sessionReassigned, .startServiceUnanswered,
            .sessionRefused, .messageEnded, .messageTooLarge, .lateAnswer, .heartbeatAnswered:
            nil
        }
    }
}
