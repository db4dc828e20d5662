import NIOCore

/// EndServices that have been written and not answered, and whose sessions have ended without them.
///
/// sdl_core derives the hash from connection and session number. If it ends a session by itself and
/// grants the number again before it handles the EndService that answers, that EndService ends the new
/// session. The acknowledgement, which comes after the grant, shows that; a refusal shows that nothing
/// was ended. Answers come in the order of the requests.
struct StrayEnds {
    /// An answer that takes longer is lost, or was never given.
    static let patience = TimeAmount.seconds(60)

    /// Unanswered EndServices remembered per session; the oldest is forgotten first. A head unit that
    /// grants and ends a number over and over, and answers nothing, must not fill relayd.
    static let limitPerSession = 16

    private var expected: [UInt8: [NIODeadline]] = [:]

    mutating func add(_ session: UInt8, at now: NIODeadline) {
        let former = expected[session, default: []].suffix(Self.limitPerSession - 1)
        expected[session] = former + [now + Self.patience]
    }

    /// Whether an answer to EndService is for a stray one, which is then taken out.
    mutating func takeAnswer(of session: UInt8, at now: NIODeadline) -> Bool {
        guard var due = expected[session] else { return false }
        due.removeAll { $0 <= now }
        defer { expected[session] = due.isEmpty ? nil : due }
        guard !due.isEmpty else { return false }
        due.removeFirst()
        return true
    }
}
