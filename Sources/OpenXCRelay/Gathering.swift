import NIOCore

/// Decides whether messages of a vehicle interface go to the clients at once or are gathered for a moment:
/// writing every message to each of a hundred clients is most of the work. Pure.
struct Gathering {
    /// With no more clients than this, every message goes at once.
    static let clients = 16
    /// The longest time that a message waits.
    static let time = TimeAmount.milliseconds(2)
    /// When this many messages are gathered, they go at once, however soon after the previous ones.
    static let messages = 512

    /// When the waiting messages are to go; nil while none wait.
    private(set) var due: NIODeadline?
    private var last: NIODeadline?

    /// Whether the gathered messages may wait for more; asked once per read.
    ///
    /// - Parameters:
    ///   - messages: The number gathered so far.
    ///   - hasAnswer: Whether a client waits for one of them.
    func mayWait(
        _ messages: Int, for clients: Int, hasAnswer: Bool, at now: NIODeadline
    ) -> Bool {
        // After an answer, all messages may have gone already; then none is left to wait.
        guard messages > 0, clients > Self.clients, !hasAnswer, messages < Self.messages, let last
        else { return false }
        return now < last + Self.time
    }

    /// Lets the gathered messages wait; the time counts from the last delivery.
    mutating func wait() {
        due = last.map { $0 + Self.time }
    }

    /// Notes that the waiting messages have been delivered.
    mutating func went(at now: NIODeadline) {
        last = now
        due = nil
    }
}
