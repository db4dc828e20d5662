import NIOCore

/// Holds requests back until their answers arrive, so that both are one line. A request without an answer
/// is shown when relayd reports it, when its app leaves, when the link closes, or at the end.
struct TailPairs: Sendable {
    private struct Waiting {
        var message: TailMessage
        /// relayd has reported it as unanswered, so it has been shown.
        var isTold = false
    }
    /// By number.
    private var waiting: [Int: Waiting] = [:]
    /// Numbers of the requests, oldest first, including some that are already answered.
    private var order = CircularBuffer<Int>()

    /// Maximum number of requests held back, because an app may never be answered. Beyond it, the oldest
    /// is shown alone.
    static let maximum = 1000

    /// The messages to show now.
    mutating func add(_ message: TailMessage) -> [TailMessage] {
        switch message.kind {
        case .request: return hold(message)
        case .response:
            guard let number = message.request, let asked = waiting.removeValue(forKey: number)
            else { return [message] }
            return [Self.together(asked.message, message)]
        case .event:
            if let number = message.request { return [tell(number, message)] }
            switch message.event {
            case "app_left": return leave(message.app) + [message]
            case "link_opened", "link_closed": return take { _ in true } + [message]
            default: return [message]
            }
        default: return [message]
        }
    }

    /// Whether the request with this number has not been shown yet.
    func isHolding(_ number: Int) -> Bool {
        waiting[number].map { !$0.isTold } ?? false
    }

    /// All requests that are still waiting. An answer may arrive after the reader is gone.
    mutating func rest() -> [TailMessage] {
        take(saying: "no answer yet") { _ in true }
    }

    private mutating func hold(_ message: TailMessage) -> [TailMessage] {
        var shown: [TailMessage] = []
        if let old = message.replaces, let asked = waiting.removeValue(forKey: old), !asked.isTold {
            shown.append(Self.alone(asked.message))
        }
        waiting[message.number] = Waiting(message: message)
        order.append(message.number)
        while waiting.count > Self.maximum, let oldest = order.popFirst() {
            guard let asked = waiting.removeValue(forKey: oldest), !asked.isTold else { continue }
            shown.append(Self.alone(asked.message))
        }
        if order.count > 2 * Self.maximum { forgetAnswered() }
        return shown
    }

    /// relayd reports the request as unanswered; an answer may still arrive.
    private mutating func tell(_ number: Int, _ message: TailMessage) -> TailMessage {
        guard let asked = waiting[number] else { return message }
        waiting[number]?.isTold = true
        var told = message
        told.asked = asked.message.summary
        return told
    }

    private mutating func forgetAnswered() {
        let waiting = waiting
        order.removeAll { waiting[$0] == nil }
    }

    private mutating func leave(_ app: Int?) -> [TailMessage] {
        take { $0.app == app }
    }

    private mutating func take(
        saying words: String = Self.noAnswer, where isChosen: (TailMessage) -> Bool
    ) -> [TailMessage] {
        let chosen = order.filter { waiting[$0].map { isChosen($0.message) } ?? false }
        let taken = chosen.compactMap { waiting.removeValue(forKey: $0) }
        forgetAnswered()
        return taken.filter { !$0.isTold }.map { Self.alone($0.message, words) }
    }

    /// The answer's line, preceded by the request's content.
    private static func together(_ request: TailMessage, _ answer: TailMessage) -> TailMessage {
        var pair = answer
        pair.asked = request.summary
        if let asked = request.bytes, let answered = answer.bytes {
            pair.bytes = Units.sum([asked, answered])
        }
        pair.isBad = request.isBad || answer.isBad
        return pair
    }

    private static let noAnswer = "no answer"

    private static func alone(_ request: TailMessage, _ words: String = Self.noAnswer)
        -> TailMessage
    {
        var message = request
        message.asked = request.summary
        message.summary = ColouredText(words)
        return message
    }
}
