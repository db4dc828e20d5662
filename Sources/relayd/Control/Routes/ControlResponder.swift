import ControlAPI
import Logging
import NIOCore
import NIOHTTP1
import SDLProtocol

/// From a request to its answer: path, route, gate, handler, in this order and in this place only.
///
/// Everything after the match is decided about the route that was matched. Who changes something is
/// logged, and so is who may not.
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

    /// - Parameter peer: Who asks, as far as places go.
    func respond(
        to request: ControlRequest, at endpoint: ControlEndpoint, on channel: any Channel,
        from peer: ControlShares.Peer, _ logger: Logger
    ) async throws -> ControlResponse {
        // Errors, too: a body behind the answer to HEAD would be taken for the next answer.
        Self.forMethod(request, try await told(request, endpoint, channel, peer, logger))
    }

    /// The answer, or what is wrong.
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
        // Who has the token may change things, so only who may change things gets it.
        // The same of what was recorded, which is more than passes while somebody looks.
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

    /// What came of a change, errors of the client included: all of it is logged.
    private func changed(
        _ request: ControlRequest, _ context: RouteContext, _ handler: RouteHandlers.Handler
    ) async throws -> ControlResponse {
        do {
            return try await handler(request, context)
        } catch let error as APIError {
            return try .json(error, status: error.httpStatus)
        }
    }

    /// What was driven, its handler has logged; errors of the client are logged here.
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
