package import RelayCore
import Synchronization

/// Keeps facts about apps and head unit from decoded traffic, for status and control API; readable
/// from anywhere at the price of a lock and a copy. Fed by `TrafficAdvisor`.
package final class SessionFacts: TrafficConsumer {
    private let state = Mutex(FactsTable())
    private let readers = WaitingReaders()

    package init() {}

    /// An app that left not long ago.
    package func departed(_ app: AppID) -> DepartedApp? {
        state.withLock { table in table.departed.first { $0.app == app }?.facts }
    }

    /// Connected apps that said anything so far.
    package func facts() -> [AppID: AppFacts] {
        state.withLock { $0.apps }
    }

    package func facts(of app: AppID) -> AppFacts? {
        state.withLock { $0.apps[app] }
    }

    /// Waits for what becomes known next. Others may have said it, so who waits looks, and waits again.
    ///
    /// - Parameter isThere: Whether it is known already.
    package func wait(_ waiter: Waiter, unless isThere: () -> Bool) async {
        await readers.wait(waiter, unless: isThere)
    }

    package func headUnit() -> HeadUnitFacts {
        state.withLock { $0.headUnit }
    }

    /// What is known on the link with this number; nil: there is none. Traffic is decoded behind the
    /// relay, so that for a moment what is known may still be an earlier head unit's.
    package func headUnit(onLink number: Int?) -> HeadUnitFacts {
        let latest = headUnit()
        return number != nil && latest.link == number ? latest : HeadUnitFacts()
    }

    package func consume(_ entries: [TrafficEntry]) {
        consume(entries[...]) { _, _ in }
    }

    /// - Parameter beforeEach: Gets each entry with the facts as they were before it.
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
