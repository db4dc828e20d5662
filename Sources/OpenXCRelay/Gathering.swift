import NIOCore

/// Whether what a vehicle interface has said goes to the clients at once, or is gathered for a moment: a write
/// to each of a hundred clients for every message is most of the work there is. Pure.
struct Gathering {
    /// With no more clients than this, everything goes at once.
    static let clients = 16
    /// The longest time that a message waits.
    static let time = TimeAmount.milliseconds(2)
    /// Messages that go at once, however soon after the ones before.
    static let messages = 512

    /// When what waits is to go; nil while nothing waits.
    private(set) var due: NIODeadline?
    private var last: NIODeadline?

    /// Whether what has been gathered may wait for more; asked once a read.
    ///
    /// - Parameters:
    ///   - messages: Those that have been gathered so far.
    ///   - hasAnswer: Whether a client waits for one of them.
    func mayWait(
        _ messages: Int, for clients: Int, hasAnswer: Bool, at now: NIODeadline
    ) -> Bool {
        // Of nothing, because all of it has gone with an answer, nothing waits.
        guard messages > 0, clients > Self.clients, !hasAnswer, messages < Self.messages, let last
        else { return false }
        return now < last + Self.time
    }

    /// It waits, from what went last on.
    mutating func wait() {
        due = last.map { $0 + Self.time }
    }

    /// What waited has gone.
    mutating func went(at now: NIODeadline) {
        last = now
        due = nil
    }
}
