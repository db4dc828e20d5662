package import MessageFilters
package import RelayCore
import SDLAdvice

/// Selects the kept messages that a reader wants: by the log's criteria, by kind, latency and time for a look
/// back, and by the reader's filter text. Made from a request to the control API, applied while `MessageRing`
/// is read.
package struct MessageFilter: Hashable, Sendable {
    /// App, function, service, priority.
    package var traffic: TrafficFilter = .everything
    /// Kinds by their names in JSON lines; empty for all.
    package var kinds: Set<String> = []
    /// Only responses that took at least this long, in nanoseconds.
    package var slowerThan: Int64?
    /// Only entries from this time on.
    package var since: WallTime?
    /// The reader's filter text. An entry about missed frames always passes: their contents are unknown.
    package var expression = FilterExpression.everything {
        didSet {
            asksForAnswers = expression.asksForAnswers
            asksForText = expression.asksForText
        }
    }
    private var asksForAnswers = false
    private var asksForText = false

    package init(
        traffic: TrafficFilter = .everything, kinds: Set<String> = [], slowerThan: Int64? = nil,
        since: WallTime? = nil
    ) {
        (self.traffic, self.kinds) = (traffic, kinds)
        (self.slowerThan, self.since) = (slowerThan, since)
    }

    package static let everything = MessageFilter()

    /// All kinds, in a sensible order for display.
    package static let allKinds = [
        "request", "response", "notification", "control", "stream", "security", "encrypted",
        "undecodable", "dropped", "event",
    ]

    /// - Parameter ring: Used to find the request of a response.
    package func accepts(_ entry: TrafficEntry, in ring: MessageRing? = nil) -> Bool {
        acceptsPlace(of: entry) && acceptsWords(of: entry, ring: ring) == true
    }

    /// The request to show before `entry`, its answer: one that could not be judged before.
    ///
    /// A request that was found unanswered, and shown for that reason, is not shown again.
    func request(before entry: TrafficEntry, in ring: MessageRing) -> TrafficEntry? {
        guard asksForAnswers, let pending = entry.answered,
            let request = ring.message(pending.number),
            acceptsPlace(of: request), acceptsWords(of: request, ring: ring) == nil,
            acceptsWords(of: request, answer: entry, ring: ring) == true
        else { return nil }
        guard case .rpc(let rpc) = entry.content, rpc.latency ?? 0 > pending.patience else {
            return request
        }
        var warning = entry
        warning.content = .event(.unanswered(pending, waited: pending.patience))
        return acceptsWords(of: request, answer: warning, ring: ring) == true ? nil : request
    }

    /// Whether advice about `entry` is wanted: if the entry is, or would be with the priority of the advice
    /// and marked as failed. So a reader that asks for failures also gets advice about a request that was not
    /// refused.
    package func accepts(_ advice: Advice, about entry: TrafficEntry, in ring: MessageRing) -> Bool
    {
        if accepts(entry, in: ring) { return true }
        let priority = max(entry.priority, advice.code.severity.priority)
        var lenient = self
        if priority >= traffic.minimumPriority { lenient.traffic.minimumPriority = .debug }
        guard lenient.acceptsPlace(of: entry) else { return false }
        if expression.isEverything { return true }
        let subject = AdvisedEntry(
            FilteredEntry(entry, ring: ring), priority: priority,
            isBroken: advice.code.severity == .warning)
        return expression.accepts(subject) == true
    }

    private func acceptsWords(
        of entry: TrafficEntry, answer: TrafficEntry? = nil, ring: MessageRing?
    ) -> Bool? {
        if expression.isEverything { return true }
        if case .event(.missed) = entry.content { return true }
        let texts = asksForText ? EntryTexts(entry) : nil
        return expression.accepts(
            FilteredEntry(entry, answer: answer, ring: ring, texts: texts))
    }

    private func acceptsPlace(of entry: TrafficEntry) -> Bool {
        if let since, entry.time < since { return false }
        if let slowerThan {
            guard case .rpc(let rpc) = entry.content, let latency = rpc.latency,
                latency >= slowerThan
            else { return false }
        }
        guard kinds.isEmpty || kinds.contains(entry.content.kind) else { return false }
        return traffic.accepts(entry)
    }
}

extension AdviceSeverity {
    fileprivate var priority: TrafficPriority { self == .warning ? .warning : .info }
}

extension TrafficEntry {
    /// The request that this answers, or reports as unanswered.
    fileprivate var answered: PendingRequest? {
        switch content {
        case .rpc(let rpc): rpc.request
        case .event(.unanswered(let request, _)): request
        default: nil
        }
    }
}
