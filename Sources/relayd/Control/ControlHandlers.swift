import ControlAPI
import HTTPTypes
import Hummingbird
import Logging
import SDLProtocol

/// Answers to the requests on the control socket, one function per request.
///
/// `ControlServer` hands requests in; the rest of relayd is asked for a snapshot, for facts and
/// advice, for messages, and to do things.
struct ControlHandlers: Sendable {
    let status: @Sendable () async throws -> StatusSnapshot
    let apps: AppHandlers
    let messages: MessageHandlers
    let events: EventHandlers
    let reports: ReportHandlers
    let writes: WriteHandlers
    let devices: DeviceHandlers
    let dashboard: Dashboard

    /// Connects every entry of `Routes.all` to its function.
    func addRoutes(to router: Router<BasicRequestContext>) {
        router.get(RouterPath(Routes.index)) { _, _ in try index() }
        router.get(RouterPath(Routes.status)) { _, _ in try await statusNow() }
        router.get(RouterPath(Routes.health)) { _, _ in try await health() }
        apps.addRoutes(to: router)
        messages.addRoutes(to: router)
        events.addRoutes(to: router)
        reports.addRoutes(to: router)
        writes.addRoutes(to: router)
        devices.addRoutes(to: router)
        dashboard.addRoutes(to: router)
    }

    func index() throws -> Response {
        try .json(RouteList(routes: Routes.all))
    }

    func statusNow() async throws -> Response {
        try .json(try await status())
    }

    func health() async throws -> Response {
        let report = HealthReport(try await status())
        return try .json(report, status: report.health == .ok ? .ok : .serviceUnavailable)
    }
}

/// Sends a request to its route, or says what the routes are.
///
/// Who wants to change something has to pass a gate first, and is logged. Which gate depends on how
/// they came: the Unix socket knows its peers.
struct ControlResponder: Sendable {
    /// Says who asks, or throws `APIError` when they may not change anything.
    typealias Gate = @Sendable (Request) async throws -> String

    private let responder: RouterResponder<BasicRequestContext>
    private let routes: [Route]

    init(_ handlers: ControlHandlers) {
        routes = Routes.all
        let router = Router(
            context: BasicRequestContext.self, options: [.autoGenerateHeadEndpoints])
        handlers.addRoutes(to: router)
        responder = router.buildResponder()
    }

    func respond(
        to request: Request, context: BasicRequestContext, gate: Gate
    ) async throws -> Response {
        let path = request.uri.path
        let routes = self.routes.filter { $0.matches(path) }
        guard !routes.isEmpty else {
            let known = self.routes.map { "\($0.method) \($0.path)" }.joined(separator: ", ")
            return try .json(
                APIError(.notFound, "there is nothing at this path; known: \(known)"),
                status: .notFound)
        }
        let methods = routes.map(\.method)
        let asked = request.method == .head ? "GET" : request.method.rawValue
        guard methods.contains(asked) else {
            let known = methods.joined(separator: ", ")
            var response = try Response.json(
                APIError(
                    .methodNotAllowed, "this path answers \(known), not \(request.method.rawValue)"),
                status: .methodNotAllowed)
            response.headers[.allow] = known
            return response
        }
        do {
            guard asked != "GET" else {
                return try await responder.respond(to: request, context: context)
            }
            return try await change(request, context, gate)
        } catch {
            context.logger.error("control request failed: \(error)")
            return try .json(
                APIError(.internal, "relayd could not answer; its log says why"),
                status: .internalServerError)
        }
    }
}

extension ControlResponder {
    /// Lets through whoever may change something, and logs what came of it.
    private func change(
        _ request: Request, _ context: BasicRequestContext, _ gate: Gate
    ) async throws -> Response {
        // Paths are short (`ControlLimits.headerFieldBytes`) and may hold an app's name.
        let what = "\(request.method.rawValue) \(PrintableText.string(request.uri.path))"
        let who: String
        do {
            who = try await gate(request)
        } catch let error as APIError {
            context.logger.warning("control: \(what) refused: \(error.error.message)")
            return try .json(error, status: error.httpStatus)
        }
        let response = try await responder.respond(to: request, context: context)
        context.logger.notice("control: \(what) by \(who): \(response.status.code)")
        return response
    }
}

extension Response {
    /// A complete answer; never cached, since it describes this moment.
    static func json(
        _ value: some Encodable, status: HTTPResponse.Status = .ok
    ) throws -> Response {
        Response(
            status: status,
            headers: [.contentType: "application/json; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: try APICoding.encode(value))))
    }
}
