import ControlAPI
import Logging
import NIOCore
import NIOHTTP1
import SDLProtocol

/// From a request to its answer: path, route, gate, handler, in this order and in this place only.
///
/// Everything after the match applies to the matched route. Changes are logged with who made them,
/// and so are refused ones.
struct ControlResponder: Sendable {
    private let access = AccessControl()
    private let handlers: RouteHandlers
    private let drive: DriveSwitch
    private let refusals = RefusalLog()

    init(_ handlers: ControlHandlers) {
        var functions = RouteHandlers()
        handlers.addRoutes(to: &functions)
        self.handlers = functions
        drive = handlers.drive
    }

    /// - Parameter peer: The client that places are counted for.
    func respond(
        to request: ControlRequest, at endpoint: ControlEndpoint, on channel: any Channel,
        from peer: ControlShares.Peer, _ logger: Logger
    ) async throws -> ControlResponse {
        // Errors too: a body after the answer to HEAD would be taken for the next answer.
        Self.forMethod(request, try await told(request, endpoint, channel, peer, logger))
    }

    /// The answer, or an error as an answer.
    private func told(
        _ request: ControlRequest, _ endpoint: ControlEndpoint, _ channel: any Channel,
        _ peer: ControlShares.Peer, _ logger: Logger
    ) async throws -> ControlResponse {
        do {
            return try await answer(request, endpoint, channel, peer, logger)
        } catch let refusal as RequestGate.Refusal {
            log(refusal.error, request, channel, logger)
            var response = try ControlResponse.json(
                refusal.error, status: .init(statusCode: refusal.status))
            if refusal.status == 401 {
                response.headers.add(name: "WWW-Authenticate", value: "Bearer")
            }
            return response
        } catch let error as AccessControl.WrongMethod {
            return try Self.wrongMethod(request, error.known.joined(separator: ", "))
        } catch let error as APIError {
            if [.forbidden, .driveOff, .tooMany].contains(error.error.code) {
                log(error, request, channel, logger)
            }
            return try .json(error, status: error.httpStatus)
        } catch let error as HTTPParserError {
            // The client left in the middle of its body, or the body is not HTTP.
            return try .json(
                APIError(.badRequest, "the request is incomplete: \(error)"), status: .badRequest)
        } catch is CancellationError {
            // The client has left, and nobody reads an answer.
            throw CancellationError()
        } catch {
            logger.error("control request failed: \(error)")
            return try .json(
                APIError(.internal, "relayd could not answer; its log says why"),
                status: .internalServerError)
        }
    }

    private func answer(
        _ request: ControlRequest, _ endpoint: ControlEndpoint, _ channel: any Channel,
        _ peer: ControlShares.Peer, _ logger: Logger
    ) async throws -> ControlResponse {
        let admitted = try access.admit(
            request.head.method.rawValue, request.head.uri, RequestGate.Head(request),
            by: endpoint.gate
        )
        let route = admitted.route
        // `ControlServerTests` asks every route, so there is one.
        guard let handler = handlers[route] else {
            throw APIError(.internal, "relayd does not answer this yet")
        }
        var context = RouteContext(
            parameters: admitted.parameters, gate: endpoint.gate, shares: endpoint.shares,
            peer: peer,
            logger: logger, drive: drive)
        switch route.access {
        case .open, .read: return try await handler(request, context)
        // Anybody with the token may make changes, so only those who may make changes get it. The
        // same goes for recordings, which hold more than passes while somebody looks.
        case .secret, .kept:
            _ = try await endpoint.admit(channel)
            return try await handler(request, context)
        case .drive:
            let who = try await endpoint.admitToDrive(channel)
            try drive.check()
            context.driver = who
            return try await driven(request, context, handler)
        default:
            let who = try await endpoint.admit(channel)
            let response = try await changed(request, context, handler)
            logger.notice("control: \(Self.what(request)) by \(who): \(response.status.code)")
            return response
        }
    }

    /// The result of a change; all results are logged, including errors of the client.
    private func changed(
        _ request: ControlRequest, _ context: RouteContext, _ handler: RouteHandlers.Handler
    ) async throws -> ControlResponse {
        do {
            return try await handler(request, context)
        } catch let error as APIError {
            return try .json(error, status: error.httpStatus)
        }
    }

    /// The handler logs what was driven; errors of the client are logged here.
    private func driven(
        _ request: ControlRequest, _ context: RouteContext, _ handler: RouteHandlers.Handler
    ) async throws -> ControlResponse {
        do {
            return try await handler(request, context)
        } catch let error as APIError {
            context.audit(
                "\(Self.what(request)) failed: \(PrintableText.string(error.error.message, limit: 300))"
            )
            return try .json(error, status: error.httpStatus)
        }
    }

    private static func forMethod(_ request: ControlRequest, _ response: ControlResponse)
        -> ControlResponse
    {
        request.head.method == .HEAD ? response.withoutBody : response
    }

    private static func wrongMethod(_ request: ControlRequest, _ known: String) throws
        -> ControlResponse
    {
        var response = try ControlResponse.json(
            APIError(
                .methodNotAllowed,
                "this path answers \(known), not \(PrintableText.string(request.head.method.rawValue))"
            ),
            status: .methodNotAllowed)
        response.headers.add(name: "Allow", value: known)
        return response
    }

    // MARK: Log

    /// Paths are short (`ControlLimits.headerFieldBytes`) and may hold an app's name.
    private static func what(_ request: ControlRequest) -> String {
        "\(PrintableText.string(request.head.method.rawValue)) \(PrintableText.string(request.path))"
    }

    private func log(
        _ error: APIError, _ request: ControlRequest, _ channel: any Channel, _ logger: Logger
    ) {
        refusals.warn(
            """
            \(Self.what(request))\(ControlEndpoint.address(of: channel)) refused: \(error.error.message)
            """, logger)
    }
}
