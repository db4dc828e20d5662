import NIOCore
import SDLProtocol

/// The part of a recorded session that has been read but not replayed yet: the app's requests, and what the
/// head unit sent in response.
struct RecordedLane {
    /// Something the app asked. What the head unit said until the app asked the next thing comes so long
    /// after this one, unless it answers another.
    struct Cue {
        var question: RecordedQuestion
        /// Of its parameters.
        var fingerprint: Int?
        var correlationID: Int32?
        /// Nanoseconds since 1970.
        var time: Int64
        var isAnswered = false
        /// It counts to what was read ahead.
        var isHeld = true
        /// Said when the app asks.
        var lines: [Line] = []
        /// Once the app has asked.
        var met: Met?
    }

    struct Line {
        /// After its cue, in nanoseconds of the recording.
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
    /// In the order of the recording; the first is StartService.
    var cues: [Cue] = []
    /// What the head unit said to StartService.
    var grant: Line?
    /// All of it has been read.
    var isWhole = false
    /// A live session has it, or had it.
    var isTaken = false
    /// Everything that was asked in it.
    var questions: Set<RecordedQuestion> = []
    /// Of these, what was asked now with other parameters, and told.
    var toldOfParameters: Set<RecordedQuestion> = []

    /// Cues that were met and may still be answered.
    private static let maximumMet = 256

    init(number: Int) { self.number = number }

    var name: String {
        guard let registration else { return "session \(number + 1) of the recording" }
        return registration.name.isEmpty ? registration.appID : registration.name
    }

    var hasUnmetCues: Bool { cues.contains { $0.met == nil } }

    /// The oldest with the same parameters, or else the oldest.
    ///
    /// - Returns: Nil when that was not asked, or not so often.
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

    /// Where a message of the head unit belongs; nil for an answer to what nobody asked.
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

    /// Drops cues that are done with. The last one stays: what comes without being asked belongs to it.
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
