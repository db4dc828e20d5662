import NIOCore
package import RelayCore
package import SDLAdvice
import Synchronization

/// The connection doctor as a consumer of traffic: runs the rules, keeps their findings and passes them on.
///
/// It also feeds the `SessionFacts` it is given, entry by entry, because each rule has to know what was known
/// at that moment; so the consumer is either the advisor or the facts, not both.
package final class TrafficAdvisor: TrafficConsumer {
    /// Advice kept per app, and for all together; the oldest is dropped.
    package static let keptPerApp = 20
    package static let keptTogether = 100
    /// Advice kept as it was given, for readers that look back at past messages.
    package static let keptTold = 256

    fileprivate struct State {
        var rules = AdviceRules()
        /// In the order of the entries.
        var told = CircularBuffer<Advice>()
        var kept: [AppID: [Advice]] = [:]
        var recent: [Advice] = []
        var counts: [AdviceCode: Int] = [:]
    }

    private let facts: SessionFacts
    private let sink: @Sendable (Advice) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - facts: Fed by this advisor.
    ///   - sink: Gets each piece of advice when it is new, and again while the fault persists, ever more
    ///     rarely (`AdviceLimiter`).
    package init(
        facts: SessionFacts, sink: @escaping @Sendable (Advice) -> Void = { _ in }
    ) {
        self.facts = facts
        self.sink = sink
    }

    /// Entries processed while the lock is held: a batch may have 26,000 of them, and a status request must
    /// not wait for all.
    private static let entriesPerLock = 64

    package func consume(_ entries: [TrafficEntry]) {
        var rest = entries[...]
        while !rest.isEmpty {
            consume(rest.prefix(Self.entriesPerLock))
            rest = rest.dropFirst(Self.entriesPerLock)
        }
    }

    private func consume(_ entries: ArraySlice<TrafficEntry>) {
        let news = state.withLock { state in
            var news: [Advice] = []
            facts.consume(entries) { entry, table in
                state.rules.consider(entry, table)
                for finding in state.rules.take() {
                    switch finding {
                    case .new(let advice):
                        let advice = state.keep(advice)
                        state.remember(advice)
                        news.append(advice)
                    case .again(let key, let time): state.count(key, at: time)
                    case .withdrawn(let key): state.withdraw(key)
                    }
                }
                if case .event(.appClosed) = entry.content, let app = entry.app {
                    state.forget(app)
                }
            }
            return news
        }
        for advice in news { sink(advice) }
    }

    /// Advice about a connected app, ordered by when it was last seen.
    package func advice(about app: AppID) -> [Advice] {
        state.withLock { $0.kept[app] ?? [] }
    }

    /// The latest advice, including that about apps that left, ordered by when it was last seen.
    package func recent() -> [Advice] {
        state.withLock { $0.recent }
    }

    /// Advice given about entries with numbers above `cursor` up to `end`, in order, each as it was at that
    /// time. Repeated advice is included each time.
    package func told(after cursor: UInt64, through end: UInt64) -> [Advice] {
        guard cursor < end else { return [] }
        return state.withLock { state in
            // Readers nearly always ask for the newest entries.
            guard let last = state.told.last, last.entry > cursor else { return [] }
            return state.told.filter { $0.entry > cursor && $0.entry <= end }
        }
    }

    /// How often each code was seen, repetitions included.
    package func counts() -> [AdviceCode: Int] {
        state.withLock { $0.counts }
    }
}

extension TrafficAdvisor.State {
    /// Adds advice to the lists; returns it combined with its earlier occurrences.
    fileprivate mutating func keep(_ advice: Advice) -> Advice {
        counts[advice.code, default: 0] += 1
        if let app = advice.app {
            _ = Self.keep(advice, in: &kept[app, default: []], limit: TrafficAdvisor.keptPerApp)
        }
        return Self.keep(advice, in: &recent, limit: TrafficAdvisor.keptTogether)
    }

    fileprivate mutating func remember(_ advice: Advice) {
        if told.count == TrafficAdvisor.keptTold { told.removeFirst() }
        told.append(advice)
    }

    fileprivate mutating func count(_ key: AdviceKey, at time: WallTime) {
        counts[key.code, default: 0] += 1
        if let app = key.app { Self.countAgain(key, at: time, in: &kept[app, default: []]) }
        Self.countAgain(key, at: time, in: &recent)
    }

    fileprivate mutating func withdraw(_ key: AdviceKey) {
        if let app = key.app { kept[app]?.removeAll { $0.isAbout(key) } }
        recent.removeAll { $0.isAbout(key) }
        told.removeAll { $0.isAbout(key) }
    }

    /// Forgets a closed connection; `recent` still includes its advice.
    fileprivate mutating func forget(_ app: AppID) {
        kept[app] = nil
        rules.forget(app)
    }

    private static func countAgain(
        _ key: AdviceKey, at time: WallTime, in list: inout [Advice]
    ) {
        guard let index = list.lastIndex(where: { $0.isAbout(key) }) else { return }
        list[index].count += 1
        list[index].lastTime = time
        if index < list.endIndex - 1 { list.append(list.remove(at: index)) }
    }

    /// Keeps one piece per key, with the words of the latest one passed on.
    private static func keep(
        _ advice: Advice, in list: inout [Advice], limit: Int
    ) -> Advice {
        var advice = advice
        if let index = list.lastIndex(where: { $0.isAbout(advice.key) }) {
            let before = list.remove(at: index)
            advice.count += before.count
            advice.time = before.time
        } else if list.count == limit {
            list.removeFirst()
        }
        list.append(advice)
        return advice
    }
}
