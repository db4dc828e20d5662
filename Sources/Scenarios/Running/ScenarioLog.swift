/// The messages of a run in their order, from the one that the next step looks at on, and a few before it.
struct ScenarioLog: Sendable {
    private var messages: [ScenarioMessage] = []
    /// Of `messages`: what no step has looked at begins here.
    private var next = 0
    /// Where to go on when a step has only looked.
    private var held: Int?

    /// Messages before the next one that are kept.
    private static let kept = 16
    /// Messages that are thrown away together.
    private static let batch = 256

    /// False when too many wait to be looked at.
    mutating func append(_ message: ScenarioMessage) -> Bool {
        guard messages.count - (held ?? next) < ScenarioLimits.messages else { return false }
        messages.append(message)
        return true
    }

    /// The next message; it has been looked at then.
    mutating func pop() -> ScenarioMessage? {
        guard next < messages.count else { return nil }
        defer {
            next += 1
            if held == nil, next >= Self.kept + Self.batch {
                messages.removeFirst(next - Self.kept)
                next = Self.kept
            }
        }
        return messages[next]
    }

    /// Goes on with what comes from now on, until `release`.
    mutating func hold() {
        held = next
        next = messages.count
    }

    /// Goes on where it was before `hold`.
    mutating func release() {
        next = held ?? next
        held = nil
    }

    /// Goes on behind this message, if it is not behind it already.
    mutating func skip(through number: Int) {
        while next < messages.count, messages[next].number <= number { _ = pop() }
    }
}
