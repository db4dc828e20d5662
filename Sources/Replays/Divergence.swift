import SDLProtocol

/// A difference between a replay and its recording, in a sentence for people.
package struct Divergence: Hashable, Sendable, CustomStringConvertible {
    /// The kind, for programs.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// Asked now, but not in the recording.
        case notRecorded = "not_recorded"
        /// Asked with parameters that are not in the recording.
        case otherParameters = "other_parameters"
        /// Asked in the recording, but not now.
        case notAsked = "not_asked"
        /// No recorded session is left for the app.
        case noSession = "no_session"
        /// The session goes to an app with another name.
        case otherApp = "other_app"
        /// It cannot be decrypted here.
        case encrypted
        /// Dropped because the recording had to be read too far ahead for another app.
        case passedOver = "passed_over"
        /// An answer differs from the recorded one.
        case otherAnswer = "other_answer"
        /// Answered in the recording, but not now.
        case noAnswer = "no_answer"
        /// Sent unsolicited in the recording, but not now.
        case notTold = "not_told"
        /// The connection ended before the recording did.
        case closed
    }

    package var kind: Kind
    /// The app's name, or a placeholder.
    package var app: String
    package var text: String
    /// The recorded and the live values, line by line: "- …" and "+ …".
    package var lines: [String] = []

    package init(_ kind: Kind, app: String, _ text: String, lines: [String] = []) {
        self.kind = kind
        self.app = app
        self.text = text
        self.lines = lines
    }

    package var description: String {
        PrintableText.string("\(app): \(text)", limit: 1000)
    }
}
