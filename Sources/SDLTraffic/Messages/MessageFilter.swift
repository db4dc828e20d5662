package import RelayCore

/// Which kept messages a reader wants: the log's choice, and what only a look back chooses by,
/// kind, latency, time. Made from a request to the control API, asked while `MessageRing` is read.
package struct MessageFilter: Hashable, Sendable {
    /// App, function, service, priority.
    package var traffic: TrafficFilter = .everything
    /// Kinds as JSON lines name them; empty = all.
    package var kinds: Set<String> = []
    /// Only responses that took at least this long, in nanoseconds.
    package var slowerThan: Int64?
    /// Nothing older.
    package var since: WallTime?

    package static let everything = MessageFilter()

    /// The kinds there are, in the order people should read them.
    package static let allKinds = [
        "request", "response", "notification", "control", "stream", "security", "encrypted",
        "undecodable", "dropped", "event",
    ]

    package func accepts(_ entry: TrafficEntry) -> Bool {
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
