/// The messages of a run in their order: those not examined by a step yet, and a few before them.
struct ScenarioLog: Sendable {
    private var messages: [ScenarioMessage] = []
    /// Index in `messages` of the first message not examined by a step yet.
    private var next = 0
    /// Where to continue after a step that only looked ahead.
    private var held: Int?

    /// Number of messages kept before the next one.
    private static let kept = 16
    /// Number of messages discarded at once.
    private static let batch = 256

    /// Returns false if too many messages are waiting to be examined.
    mutating func append(_ message: ScenarioMessage) -> Bool {
        guard messages.count - (held ?? next) < ScenarioLimits.messages else { return false }
        messages.append(message)
        return true
    }

    /// Takes the next message, which then counts as examined.
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

    /// Continues with new messages only, until `release`.
    mutating func hold() {
        held = next
        next = messages.count
    }

    /// Continues where it was before `hold`.
    mutating func release() {
        next = held ?? next
        held = nil
    }

    /// Continues after this message, unless it is past it already.
    mutating func skip(through number: Int) {
        while next < messages.count, messages[next].number <= number { _ = pop() }
    }
}
