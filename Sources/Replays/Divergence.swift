import SDLProtocol

/// Where a replay is another conversation than the recording, in a sentence for people.
package struct Divergence: Hashable, Sendable, CustomStringConvertible {
    /// For programs.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// Asked now, and not in the recording.
        case notRecorded = "not_recorded"
        /// Asked with parameters that are not in the recording.
        case otherParameters = "other_parameters"
        /// Asked in the recording, and not now.
        case notAsked = "not_asked"
        /// No recorded session is left for the app.
        case noSession = "no_session"
        /// The session goes to an app with another name.
        case otherApp = "other_app"
        /// Nobody can read it here.
        case encrypted
        /// The recording reads too far ahead elsewhere.
        case passedOver = "passed_over"
        /// An answer is not what it was.
        case otherAnswer = "other_answer"
        /// Answered in the recording, and not now.
        case noAnswer = "no_answer"
        /// Told in the recording, and not now.
        case notTold = "not_told"
        /// The connection ended before the recording did.
        case closed
    }

    package var kind: Kind
    /// The app's name, or what stands for it.
    package var app: String
    package var text: String
    /// What was recorded and what came now, line by line: "- …" and "+ …".
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
