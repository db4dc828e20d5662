package import RelayCore

/// One thing that an app or the head unit did in a recorded session.
package struct RecordedStep: Sendable {
    package enum Content: Sendable {
        /// The app asked for the session. A recording that was cut may have only the answer.
        case began
        case fromApp(RecordedMessage)
        case fromHeadUnit(RecordedMessage)
        /// The session is over, for whatever reason.
        case ended
    }

    /// Counts the sessions of the recording from 0, in the order in which they were asked for.
    package var lane: Int
    package var app: AppID
    package var time: WallTime
    package var content: Content
    /// Of a RegisterAppInterface request.
    package var registration: RecordedRegistration?
    /// Of a request's parameters.
    package var fingerprint: Int?
}
