import MessageFilters

/// What the current step waits for.
struct ScenarioWait: Sendable {
    enum Kind: Sendable {
        /// The next message that the filter accepts.
        case next
        /// Any that passes the checks as well.
        case any
        /// None until the deadline.
        case none
        /// The request that a prepared rule stops.
        case stopped
    }

    var kind: Kind
    var filter: FilterExpression
    var role: String?
    var wanted: Scenario.Wanted
    var deadline: Duration
    /// For messages.
    var words: String
    /// The latest that the filter accepted and a check did not.
    var nearest: (message: ScenarioMessage, mismatches: [ScenarioMismatch])?
    /// The latest messages that were something else.
    var others: [ScenarioMessage] = []
    var otherCount = 0

    /// Messages that a failure shows.
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
