package import RelayCore

/// One action of an app or the head unit in a recorded session.
package struct RecordedStep: Sendable {
    package enum Content: Sendable {
        /// The app asked for the session. A truncated recording may have only the answer.
        case began
        case fromApp(RecordedMessage)
        case fromHeadUnit(RecordedMessage)
        /// The session is over, for whatever reason.
        case ended
    }

    /// The number of the session, from 0, in the order in which the sessions were asked for.
    package var lane: Int
    package var app: AppID
    package var time: WallTime
    package var content: Content
    /// Set for a RegisterAppInterface request.
    package var registration: RecordedRegistration?
    /// The fingerprint of a request's parameters.
    package var fingerprint: Int?
}
