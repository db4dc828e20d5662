package import NIOCore

/// A host as people write it, an address or a name, and its addresses: looked up without holding up an event
/// loop. Used for the addresses relayd listens on and for links over TCP.
package enum HostName {
    /// The addresses of a host that needs no lookup: it is an address already, or it is this machine.
    ///
    /// "localhost" is loopback whatever a name server says (RFC 6761, section 6.3), even on a machine that
    /// has no /etc/hosts. IPv4 first: that is what SDL apps and emulators use.
    package static func known(_ host: String, port: Int) -> [SocketAddress]? {
        let literals = host.lowercased() == "localhost" ? ["127.0.0.1", "::1"] : [host]
        let addresses = literals.compactMap { try? SocketAddress(ipAddress: $0, port: port) }
        return addresses.isEmpty ? nil : addresses
    }

    /// Runs `lookUp`, which may block as getaddrinfo(3) does, on a thread of its own.
    ///
    /// Not in a pool: when no name server answers, a lookup takes up to half a minute and cannot be
    /// cancelled. A pool has as many threads as the machine has processors, so that many unanswered lookups
    /// would keep every other one waiting.
    ///
    /// - Returns: What `lookUp` returned or threw; fails with `IOError` when no thread can be created.
    package static func asking<Answer: Sendable>(
        on loop: any EventLoop, _ lookUp: @escaping @Sendable () throws -> Answer
    ) -> EventLoopFuture<Answer> {
        let promise = loop.makePromise(of: Answer.self)
        let error = DetachedThread.run { promise.completeWith(Result { try lookUp() }) }
        if error != 0 {
            promise.fail(IOError(errnoCode: error, reason: "pthread_create"))
        }
        return promise.futureResult
    }
}
