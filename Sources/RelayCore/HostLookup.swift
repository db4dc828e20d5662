// Finds the one address behind a host that relayd listens on, in a time that is known beforehand. Used
// by `AppListener`.

import HostNames
package import NIOCore

/// Names into addresses, with a limit to the waiting.
package enum HostLookup {
    /// Longest wait for a name server. The resolver itself would take up to half a minute.
    package static let patience = TimeAmount.seconds(5)

    /// The first address of a host that need not be asked for: an address, or this machine.
    package static func known(_ place: ListenAddress) -> SocketAddress? {
        HostName.known(place.host, port: place.port)?.first
    }

    /// The first address of the host.
    ///
    /// - Parameter loop: keeps the time.
    /// - Throws: What the resolver says, or `TimedOut`.
    package static func address(
        of place: ListenAddress, on loop: any EventLoop, within patience: TimeAmount = patience,
        resolve: @escaping @Sendable (ListenAddress) throws -> SocketAddress = resolve
    ) async throws -> SocketAddress {
        if let known = known(place) { return known }
        let promise = loop.makePromise(of: SocketAddress.self)
        // Whoever comes second finds the promise fulfilled and changes nothing.
        let limit = loop.scheduleTask(in: patience) { promise.fail(TimedOut(host: place.host)) }
        HostName.asking(on: loop) { try resolve(place) }.cascade(to: promise)
        defer { limit.cancel() }
        return try await promise.futureResult.get()
    }

    /// Asks the resolver, which may take up to half a minute.
    @Sendable
    package static func resolve(_ place: ListenAddress) throws -> SocketAddress {
        try SocketAddress.makeAddressResolvingHost(place.host, port: place.port)
    }

    /// No name server answered.
    package struct TimedOut: Error, CustomStringConvertible {
        package let host: String

        package var description: String {
            "no name server said in time which address \(host) has; use the address itself"
        }
    }
}
