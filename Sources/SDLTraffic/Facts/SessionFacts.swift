package import RelayCore
import Synchronization

/// Keeps facts about apps and the head unit from decoded traffic, for status and control API; readable from
/// any thread at the cost of a lock and a copy. Fed by `TrafficAdvisor`.
package final class SessionFacts: TrafficConsumer {
    private let state = Mutex(FactsTable())
    private let readers = WaitingReaders()

    package init() {}

    /// An app that left recently.
    package func departed(_ app: AppID) -> DepartedApp? {
        state.withLock { table in table.departed.first { $0.app == app }?.facts }
    }

    /// Connected apps that have sent anything so far.
    package func facts() -> [AppID: AppFacts] {
        state.withLock { $0.apps }
    }

    package func facts(of app: AppID) -> AppFacts? {
        state.withLock { $0.apps[app] }
    }

    /// Waits for new facts. These may come from other apps, so the caller checks and waits again.
    ///
    /// - Parameter isThere: Whether the fact is known already.
    package func wait(_ waiter: Waiter, unless isThere: () -> Bool) async {
        await readers.wait(waiter, unless: isThere)
    }

    package func headUnit() -> HeadUnitFacts {
        state.withLock { $0.headUnit }
    }

    /// The facts of the link with this number; pass nil when there is no link. Traffic is decoded behind the
    /// relay, so for a moment the facts may still be those of an earlier head unit.
    package func headUnit(onLink number: Int?) -> HeadUnitFacts {
        let latest = headUnit()
        return number != nil && latest.link == number ? latest : HeadUnitFacts()
    }

    package func consume(_ entries: [TrafficEntry]) {
        consume(entries[...]) { _, _ in }
    }

    /// - Parameter beforeEach: Gets each entry with the facts before it.
    func consume(
        _ entries: ArraySlice<TrafficEntry>, beforeEach: (TrafficEntry, FactsTable) -> Void
    ) {
        state.withLock { table in
            for entry in entries {
                beforeEach(entry, table)
                table.apply(entry)
            }
        }
        readers.wake()
    }
}
