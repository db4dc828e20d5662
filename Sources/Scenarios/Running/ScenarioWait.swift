import MessageFilters

/// What the current step waits for.
struct ScenarioWait: Sendable {
    enum Kind: Sendable {
        /// The next message that the filter accepts.
        case next
        /// Any message that also passes the checks.
        case any
        /// No such message until the deadline.
        case none
        /// The request stopped by a prepared rule.
        case stopped
    }

    var kind: Kind
    var filter: FilterExpression
    var role: String?
    var wanted: Scenario.Wanted
    var deadline: Duration
    /// For messages.
    var words: String
    /// The latest message that the filter accepted but a check did not.
    var nearest: (message: ScenarioMessage, mismatches: [ScenarioMismatch])?
    /// The latest messages that did not match.
    var others: [ScenarioMessage] = []
    var otherCount = 0

    /// Number of messages shown in a failure.
    private static let shown = 5

    mutating func pass(_ message: ScenarioMessage) {
        guard message.isOfDialogue, message.isFromApp != nil || message.kind == "event" else {
            return
        }
        otherCount += 1
        others.append(message)
        if others.count > Self.shown { others.removeFirst() }
    }
}
