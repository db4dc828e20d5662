import NIOCore
import SDLProtocol

/// The part of a recorded session that has been read but not replayed yet: the app's requests, and what the
/// head unit sent in response.
struct RecordedLane {
    /// A question of the app. What the head unit said before the app's next question comes with the same
    /// delay after this one, unless it answers another.
    struct Cue {
        var question: RecordedQuestion
        /// The fingerprint of its parameters.
        var fingerprint: Int?
        var correlationID: Int32?
        /// Nanoseconds since 1970.
        var time: Int64
        var isAnswered = false
        /// Whether it counts towards the read-ahead.
        var isHeld = true
        /// Messages to send when the app asks.
        var lines: [Line] = []
        /// Set once the app has asked.
        var met: Met?
    }

    struct Line {
        /// The delay after its cue, in nanoseconds of the recording.
        var delay: Int64
        var message: RecordedMessage
        var isAnswer: Bool
    }

    struct Met {
        var at: NIODeadline
        var correlationID: Int32?
    }

    let number: Int
    var registration: RecordedRegistration?
    /// The cues in the order of the recording; the first is StartService.
    var cues: [Cue] = []
    /// The head unit's answer to StartService.
    var grant: Line?
    /// Whether all of the session has been read.
    var isWhole = false
    /// Whether a live session has taken it, now or earlier.
    var isTaken = false
    /// All questions that were asked in it.
    var questions: Set<RecordedQuestion> = []
    /// Questions that came with other parameters this time, which has been reported.
    var toldOfParameters: Set<RecordedQuestion> = []

    /// Maximum met cues that may still be answered.
    private static let maximumMet = 256

    init(number: Int) { self.number = number }

    var name: String {
        guard let registration else { return "session \(number + 1) of the recording" }
        return registration.name.isEmpty ? registration.appID : registration.name
    }

    var hasUnmetCues: Bool { cues.contains { $0.met == nil } }

    /// The oldest unmet cue with the same parameters, or else the oldest.
    ///
    /// - Returns: Nil when the question was not asked, or not so often.
    func firstUnmet(
        _ question: RecordedQuestion, _ fingerprint: Int?
    ) -> (index: Int, isSame: Bool)? {
        guard questions.contains(question) else { return nil }
        func isUnmet(_ cue: Cue) -> Bool { cue.met == nil && cue.question == question }
        if let same = cues.firstIndex(where: { isUnmet($0) && $0.fingerprint == fingerprint }) {
            return (same, true)
        }
        return cues.firstIndex(where: isUnmet).map { ($0, false) }
    }

    /// The cue that a message of the head unit belongs to; nil for an answer without a question.
    func cue(of message: RecordedMessage) -> (index: Int, isAnswer: Bool)? {
        if let question = message.answered {
            return cues.lastIndex { $0.question == question && !$0.isAnswered }.map { ($0, true) }
        }
        if case .rpc(.response, _, let correlationID) = message.kind {
            return cues.lastIndex {
                guard case .request = $0.question else { return false }
                return $0.correlationID == correlationID && !$0.isAnswered
            }.map { ($0, true) }
        }
        return cues.isEmpty ? nil : (cues.count - 1, false)
    }

    /// Drops finished cues. The last one stays: unsolicited messages belong to it.
    mutating func tidy() {
        var unanswered = cues.count { $0.met != nil && !$0.isAnswered }
        var rest = cues.count
        cues.removeAll { cue in
            rest -= 1
            guard cue.met != nil, rest > 0 else { return false }
            if cue.isAnswered { return true }
            guard unanswered > Self.maximumMet else { return false }
            unanswered -= 1
            return true
        }
    }
}
