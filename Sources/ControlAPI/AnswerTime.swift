/// Time that some answers need beyond the usual milliseconds. relayd keeps to it; relayctl waits as
/// much longer.
package enum AnswerTime {
    /// What relayd gives name servers for all hosts of `listen` together.
    package static let hostLookup = Duration.seconds(5)

    /// A vehicle interface may have to ask the vehicle for its VIN, and is given 10 s for it; a client may wait
    /// as long for answers to a diagnostic request, once the vehicle interface has taken it within 3 s.
    package static let vehicle = Duration.seconds(13)

    /// What the answer to a request for this path may need.
    ///
    /// A reload and the switch of the server open the addresses of `listen`, whose hosts may be names. A
    /// client that gives up before relayd does would call relayd stuck where a name server is, or call
    /// a change failed that is then applied.
    package static func extra(for path: String) -> Duration {
        switch path.prefix(while: { $0 != "?" }) {
        case Routes.reload, Routes.server: hostLookup
        case Routes.vehicleCommand, Routes.vehicleDiagnostic, Routes.vehicleStream: vehicle
        default: .zero
        }
    }
}
