// Finds the address behind the name of a host without holding up an event loop. Used by
// `AppListener`.

package import NIOCore
import NIOPosix

/// Names into addresses, on a thread that may block.
package enum HostLookup {
    /// Longest wait for a name server. The resolver itself would take up to half a minute.
    package static let patience = TimeAmount.seconds(5)

    /// The first address of the host.
    ///
    /// - Parameter loop: keeps the time.
    /// - Throws: What the resolver says, or `TimedOut`.
    package static func address(
        of place: ListenAddress, on loop: any EventLoop, within patience: TimeAmount = patience,
        resolve: @escaping @Sendable (ListenAddress) throws -> SocketAddress = {
            try SocketAddress.makeAddressResolvingHost($0.host, port: $0.port)
        }
    ) async throws -> SocketAddress {
        if let literal = try? SocketAddress(ipAddress: place.host, port: place.port) {
            return literal
        }
        let promise = loop.makePromise(of: SocketAddress.self)
        // Whoever comes second finds the promise fulfilled and changes nothing.
        let limit = loop.scheduleTask(in: patience) { promise.fail(TimedOut(host: place.host)) }
        NIOThreadPool.singleton.submit { _ in
            promise.completeWith(Result { try resolve(place) })
        }
        defer { limit.cancel() }
        return try await promise.futureResult.get()
    }

    /// No name server answered.
    package struct TimedOut: Error, CustomStringConvertible {
        package let host: String

        package var description: String {
            "no name server said in time which address \(host) has; use the address itself"
        }
    }
}
