// Which function answers which route. Each part of the control API adds its own; `ControlResponder`
// calls the function of the matched route.

import ControlAPI
import Logging

/// What a handler gets besides the request.
struct RouteContext: Sendable {
    /// The values of the segments that begin with ":", decoded.
    let parameters: [String: String]
    let gate: RequestGate
    /// Gives out places for streams.
    let shares: ControlShares
    /// The client that places are counted for.
    let peer: ControlShares.Peer
    let logger: Logger
    /// Whether anybody may drive the conversation at this moment. Handlers of routes with access `drive` check it
    /// again after waiting for a body or for the head unit, and again once what they have begun is registered to
    /// end when driving is turned off: if it was turned off before that, nobody could end it any more.
    let drive: DriveSwitch
    /// Who drives the conversation; nil for a route of other access.
    var driver: String?

    /// The line of the log about what was driven. Handlers of routes with access `drive` call it once for
    /// everything they have done; `ControlResponder` logs what they refuse.
    ///
    /// - Parameter what: Printable, in one line, without the end of a sentence.
    func audit(_ what: String) {
        logger.notice("drive: \(what), by \(driver ?? "nobody")")
    }

    /// The segment with this name; empty when the route has none.
    func segment(_ name: String) -> String { parameters[name] ?? "" }

    /// A place for a stream, to be kept until it ends.
    ///
    /// - Throws: `APIError` if this client has its share already.
    func streamPlace(_ request: ControlRequest) throws(APIError) -> ControlShares.Place {
        let isPrivileged = gate.token.isBrought(by: request.header("Authorization"))
        return try shares.stream(peer, isPrivileged: isPrivileged)
    }
}

/// The handlers, by method and path.
struct RouteHandlers: Sendable {
    /// Answers, or throws: `APIError` for the client, any other error for a fault of relayd's own.
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
