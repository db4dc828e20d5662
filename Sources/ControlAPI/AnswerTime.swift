/// Additional time for answers that need more than the usual milliseconds. relayd keeps to it, and
/// relayctl waits that much longer.
package enum AnswerTime {
    /// The time relayd gives name servers for all hosts of `listen` together.
    package static let hostLookup = Duration.seconds(5)

    /// A vehicle interface may have to ask the vehicle for its VIN, and gets 10 s for that; a client may
    /// wait as long for answers to a diagnostic request, after the vehicle interface has accepted it
    /// within 3 s.
    package static let vehicle = Duration.seconds(13)

    /// The additional time for a request to this path.
    ///
    /// A reload and the server switch open the addresses of `listen`, whose hosts may be names. A client
    /// that gives up before relayd does would blame relayd for a slow name server, or report a change as
    /// failed that is then applied.
    package static func extra(for path: String) -> Duration {
        switch path.prefix(while: { $0 != "?" }) {
        case Routes.reload, Routes.server: hostLookup
        case Routes.vehicleCommand, Routes.vehicleDiagnostic, Routes.vehicleStream: vehicle
        default: .zero
        }
    }
}
