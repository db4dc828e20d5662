package import ControlAPI

/// Decides about a request before anything is done for it: which route it means, and whether this
/// endpoint lets it in. Values only; `ControlResponder` carries the decision out.
package struct AccessControl: Sendable {
    /// A request that may go on to its handler.
    package struct Admitted: Sendable, Equatable {
        package let route: Route
        /// What stands for the segments that begin with ":", decoded.
        package let parameters: [String: String]
    }

    /// A path that is there, but not with this method.
    package struct WrongMethod: Error, Equatable {
        /// For `Allow`.
        package let known: [String]
    }

    /// Stands for the `Host` that HTTP/1.1 wants and a request does not have. No name, so that it lets
    /// nobody in who sends it.
    package static let noHost = ","

    private let table: RouteTable
    private static let known = Routes.all.map { "\($0.method) \($0.path)" }.joined(separator: ", ")

    package init(_ routes: [Route] = Routes.all) {
        table = RouteTable(routes)
    }

    /// - Parameters:
    ///   - target: As it stands in the request line.
    ///   - gate: That of the endpoint the request came by.
    /// - Throws: `APIError` for a request with several hosts or without one, and for a path that is none
    ///   or not there; `RequestGate.Refusal`, or `WrongMethod`.
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
