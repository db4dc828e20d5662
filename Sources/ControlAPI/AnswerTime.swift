/// Time that some answers need beyond the usual milliseconds. relayd keeps to it; relayctl waits as
/// much longer.
package enum AnswerTime {
    /// What relayd gives name servers for all hosts of `listen` together.
    package static let hostLookup = Duration.seconds(5)

    /// What the answer to a request for this path may need.
    ///
    /// A reload and the switch of the server open the addresses of `listen`, whose hosts may be names. A
    /// client that gives up before relayd does would call relayd stuck where a name server is, or call
    /// a change failed that is then applied.
    package static func extra(for path: String) -> Duration {
        path == Routes.reload || path == Routes.server ? hostLookup : .zero
    }
}
