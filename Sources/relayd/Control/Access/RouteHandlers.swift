// Which function answers which route. Each part of the control API adds its own; `ControlResponder`
// calls the one of the route that was matched.

import ControlAPI
import Logging

/// What a handler is given beside the request.
struct RouteContext: Sendable {
    /// What stands for the segments that begin with ":", decoded.
    let parameters: [String: String]
    let gate: RequestGate
    /// Gives out places for streams.
    let shares: ControlShares
    /// Who asks, as far as places go.
    let peer: ControlShares.Peer
    let logger: Logger
    /// Whether anybody may drive the conversation at this moment. Handlers of routes with access `drive` ask it again
    /// when they have waited for a body or for the head unit, and when what they have begun is among what ends when
    /// driving is turned off: nobody may end it afterwards.
    let drive: DriveSwitch
    /// Who drives the conversation; nil for a route of other access.
    var driver: String?

    /// The line of the log about what was driven. Handlers of routes with access `drive` call it once for
    /// everything they have done; what they refuse, `ControlResponder` logs.
    ///
    /// - Parameter what: Printable, in one line, without the end of a sentence.
    func audit(_ what: String) {
        logger.notice("drive: \(what), by \(driver ?? "nobody")")
    }

    /// The segment with this name; empty when the route has none.
    func segment(_ name: String) -> String { parameters[name] ?? "" }

    /// A place for a stream, to be kept until it ends.
    ///
    /// - Throws: `APIError` when this client has its share.
    func streamPlace(_ request: ControlRequest) throws(APIError) -> ControlShares.Place {
        let isPrivileged = gate.token.isBrought(by: request.header("Authorization"))
        return try shares.stream(peer, isPrivileged: isPrivileged)
    }
}

/// The functions, by method and path.
struct RouteHandlers: Sendable {
    /// Answers, or throws `APIError` for the client, or anything else that is relayd's own fault.
    typealias Handler = @Sendable (ControlRequest, RouteContext) async throws -> ControlResponse

    private var handlers: [String: Handler] = [:]

    subscript(route: Route) -> Handler? { handlers[Self.key(route.method, route.path)] }

    mutating func get(_ path: String, _ handler: @escaping Handler) {
        handlers[Self.key("GET", path)] = handler
    }

    mutating func put(_ path: String, _ handler: @escaping Handler) {
        handlers[Self.key("PUT", path)] = handler
    }

    mutating func post(_ path: String, _ handler: @escaping Handler) {
        handlers[Self.key("POST", path)] = handler
    }

    mutating func delete(_ path: String, _ handler: @escaping Handler) {
        handlers[Self.key("DELETE", path)] = handler
    }

    private static func key(_ method: String, _ path: String) -> String { "\(method) \(path)" }
}
