package import ControlAPI

/// Decides about a request before anything is done for it: which route it means, and whether this
/// endpoint admits it. Values only; `ControlResponder` carries out the decision.
package struct AccessControl: Sendable {
    /// A request that may proceed to its handler.
    package struct Admitted: Sendable, Equatable {
        package let route: Route
        /// The values of the segments that begin with ":", decoded.
        package let parameters: [String: String]
    }

    /// A path that exists, but not with this method.
    package struct WrongMethod: Error, Equatable {
        /// For `Allow`.
        package let known: [String]
    }

    /// Stands for a missing `Host` that HTTP/1.1 requires. It is not a valid name, so a client that
    /// sends it is not admitted.
    package static let noHost = ","

    private let table: RouteTable
    private static let known = Routes.all.map { "\($0.method) \($0.path)" }.joined(separator: ", ")

    package init(_ routes: [Route] = Routes.all) {
        table = RouteTable(routes)
    }

    /// - Parameters:
    ///   - target: As in the request line.
    ///   - gate: The gate of the endpoint the request came in by.
    /// - Throws: `APIError` for a request with several hosts or none, and for a path that is invalid or
    ///   unknown; `RequestGate.Refusal`, or `WrongMethod`.
    package func admit(
        _ method: String, _ target: String?, _ head: RequestGate.Head, by gate: RequestGate
    ) throws -> Admitted {
        guard head.authority != Self.noHost else {
            throw APIError(
                .badRequest,
                "the request names no host; HTTP/1.1 expects one Host header, such as \"Host: relayd\" "
                    + "(RFC 9112, 3.2)")
        }
        guard head.authority?.utf8.contains(UInt8(ascii: ",")) != true else {
            throw APIError(
                .badRequest,
                "the request names more than one host; expected one Host header (RFC 9112, 3.2)")
        }
        let match = table.match(try RequestTarget(target))
        let route = match?.route(for: method)
        try gate.checkSite(head, route)
        guard let match else {
            throw APIError(.notFound, "there is nothing at this path; known: \(Self.known)")
        }
        guard let route else {
            let known = match.routes.map(\.method)
            throw WrongMethod(
                known: known.contains("GET")
                    ? ["GET", "HEAD"] + known.filter { $0 != "GET" } : known)
        }
        try gate.check(head, for: route)
        return Admitted(route: route, parameters: match.parameters)
    }
}
