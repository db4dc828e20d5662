import HostNames
package import NIOCore

/// Finds the one address of a host that relayd listens on, within a bounded time. Used by `AppListener`.
package enum HostLookup {
    /// Longest wait for a name server. The resolver itself would take up to half a minute.
    package static let patience = TimeAmount.seconds(5)

    /// The first address of a host that needs no lookup: an address, or this machine.
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
        // The later of the two finds the promise fulfilled and changes nothing.
        let limit = loop.scheduleTask(in: patience) { promise.fail(TimedOut(host: place.host)) }
        HostName.asking(on: loop) { try resolve(place) }.cascade(to: promise)
        defer { limit.cancel() }
        return try await promise.futureResult.get()
    }

    /// The first address of each host. All are looked up at once, so that many take no longer than one.
    ///
    /// - Throws: `ListenError` for the first host without a known address.
    package static func addresses(
        of places: [ListenAddress], on loop: any EventLoop, within patience: TimeAmount = patience,
        resolve: @escaping @Sendable (ListenAddress) throws -> SocketAddress = resolve
    ) async throws -> [SocketAddress] {
        let found = await withTaskGroup(of: (Int, Result<SocketAddress, any Error>).self) { group in
            for (index, place) in places.enumerated() {
                group.addTask {
                    do {
                        let address = try await address(
                            of: place, on: loop, within: patience, resolve: resolve)
                        return (index, .success(address))
                    } catch {
                        return (index, .failure(error))
                    }
                }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        return try places.enumerated().map { index, place in
            do {
                guard let result = found[index] else { throw TimedOut(host: place.host) }
                return try result.get()
            } catch {
                throw ListenError(address: place, cause: error)
            }
        }
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
