// Counts what passes, as a consumer of decoded traffic; read by the control API.

import Synchronization

/// Keeps `Statistics`; readable from anywhere at the price of a lock and a copy.
package final class TrafficStatistics: TrafficConsumer {
    /// When counting began.
    package let since: WallTime
    private let state = Mutex(Statistics())

    package init(since: WallTime = .now()) {
        self.since = since
    }

    package var current: Statistics { state.withLock { $0 } }

    package func consume(_ entries: [TrafficEntry]) async {
        count(entries)
    }

    /// `consume` without the waiting.
    package func count(_ entries: [TrafficEntry]) {
        state.withLock { statistics in
            for entry in entries { statistics.count(entry) }
        }
    }
}
