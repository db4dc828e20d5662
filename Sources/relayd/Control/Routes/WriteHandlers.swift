import ControlAPI
import DidYouMean
import NIOCore
import NIOHTTP1
import RelayCore
import SDLProtocol

/// Answers the requests that change something. `ControlResponder` has decided before who may ask.
struct WriteHandlers: Sendable {
    let apps: AppFinder
    let actions: ControlActions
    let log: LogControl

    func addRoutes(to routes: inout RouteHandlers) {
        routes.post(Routes.disconnect) { request, context in
            try await disconnect(request, context)
        }
        routes.post(Routes.reopen) { request, _ in
            try await reopen(request)
        }
        routes.put(Routes.server) { request, _ in
            try await server(request)
        }
        routes.get(Routes.log) { _, _ in try ControlResponse.json(log.settings) }
        routes.put(Routes.log) { request, _ in
            try await changeLog(request)
        }
        routes.post(Routes.reload) { _, _ in
            try ControlResponse.json(try await actions.reload())
        }
    }

    // MARK: In the order of the routes

    private func disconnect(
        _ request: ControlRequest, _ context: RouteContext
    ) async throws -> ControlResponse {
        try .json(
            try await disconnect(context.segment("app"), try await Self.reason(request)))
    }

    /// For a request, or for a scenario that relayd runs.
    ///
    /// - Parameter wanted: Its number, name or app ID.
    func disconnect(_ wanted: String, _ reason: String?) async throws -> ActionReport {
        let app = try await apps.find(wanted)
        guard try await actions.disconnect(AppID(rawValue: UInt64(app.id)), reason) else {
            throw APIError(.notFound, "app #\(app.id) has already left")
        }
        let name = app.appName.map { " (\($0))" } ?? ""
        return ActionReport(summary: "app #\(app.id)\(name) disconnected")
    }

    private func reopen(_ request: ControlRequest) async throws -> ControlResponse {
        try await actions.reopen(try await Self.reason(request))
        return try .json(ActionReport(summary: "the link is being opened again"))
    }

    private func server(_ request: ControlRequest) async throws -> ControlResponse {
        let wanted = try await request.controlBody(
            ServerRequest.self, example: #"{"active": false}"#)
        return try .json(ActionReport(summary: try await actions.setServer(wanted.active)))
    }

    private func changeLog(_ request: ControlRequest) async throws -> ControlResponse {
        let wanted = try await request.controlBody(
            LogSettings.self, example: #"{"level": "debug"}"#)
        return try .json(try await log.change(wanted))
    }

    private static func reason(_ request: ControlRequest) async throws -> String? {
        let body = try await request.controlBody(
            ReasonRequest.self, example: #"{"reason": "makes room"}"#)
        guard let reason = body.reason, !reason.isEmpty else { return nil }
        return PrintableText.string(reason, limit: ReasonRequest.maximumScalars)
    }
}

extension APIError {
    /// The status that the code documents.
    var httpStatus: HTTPResponseStatus {
        switch error.code {
        case .notFound, .ringOff: .notFound
        case .ambiguous, .conflict, .wrongAccessory, .vehicleRefused: .conflict
        case .badRequest: .badRequest
        case .forbidden, .driveOff: .forbidden
        case .tooLarge: .payloadTooLarge
        case .noAnswer: .gatewayTimeout
        case .tooMany: .tooManyRequests
        case .tokenNeeded: .unauthorized
        case .methodNotAllowed: .methodNotAllowed
        default: .internalServerError
        }
    }
}

extension ControlRequest {
    /// The decoded body. It is read within the time limit of a request.
    ///
    /// - Throws: `APIError` that says what was found and what was expected.
    func controlBody<Body: ControlBody>(
        _ type: Body.Type, example: String, limit: Int = ControlLimits.bodyBytes
    ) async throws -> Body {
        var bytes: ByteBuffer
        do {
            bytes = try await body.whole(limit: limit)
        } catch is RequestBody.TooLong {
            throw APIError(
                .tooLarge,
                "the body has more than \(limit) bytes; expected \(example)")
        }
        if bytes.readableBytes == 0 { bytes.writeString("{}") }
        let object: JSONObject
        do throws(JSONError) {
            object = try JSONObject(bytes)
        } catch {
            throw APIError(.badRequest, "the body is not a JSON object; expected \(example)")
        }
        for member in object.members {
            let name = object.string(member.key) ?? ""
            guard !Body.members.contains(name) else { continue }
            let hint = Spelling.nearest(name, in: Body.members).map { "; did you mean \"\($0)\"?" }
            let shown = PrintableText.string(name, limit: 40)
            throw APIError(
                .badRequest,
                "there is no \"\(shown)\" in this body; known: "
                    + Body.members.joined(separator: ", ") + (hint ?? ""))
        }
        do {
            return try APICoding.decode(type, from: Array(bytes.readableBytesView))
        } catch {
            throw APIError(.badRequest, "the body is not understood; expected \(example)")
        }
    }
}
