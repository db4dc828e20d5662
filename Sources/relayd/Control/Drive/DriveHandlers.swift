package import ControlAPI
import NIOCore
package import RelayCore
package import SDLProtocol
package import SDLTraffic

/// Makes relayd send something in place of an app or of the head unit, as the specification in force allows.
/// `ControlResponder` has decided before who may ask, and whether driving is allowed at all.
package struct DriveHandlers: Sendable {
    let status: @Sendable () async throws -> StatusSnapshot
    let facts: SessionFacts
    private let apps: AppFinder
    /// Checks RPCs against the specification in force.
    private let builder: RPCBuilder
    /// Nil for a server without a relay behind it.
    private let relay: Relay?
    private let events: EventRing?
    private let own: OwnApps?
    private let streams: StreamHandlers

    package init(
        _ relay: Relay?, status: @escaping @Sendable () async throws -> StatusSnapshot,
        facts: SessionFacts = SessionFacts(), validator: RPCValidator?, events: EventRing? = nil
    ) {
        self.relay = relay
        self.events = events
        self.status = status
        self.facts = facts
        apps = AppFinder(status: status) {
            await relay?.observersCatchUp(within: ControlLimits.observersPatience)
        }
        streams = StreamHandlers(relay, apps: apps, facts: facts, events: events)
        // Also if the RPCs of others are not validated.
        builder = RPCBuilder(validator ?? .builtIn)
        own = relay.map { relay in
            OwnApps(relay) { app, name, reason in
                guard let reason else { return }
                events?.add(
                    .control, "relayd is no longer the app \"\(name)\": \(reason)", app: app,
                    appName: name)
            }
        }
    }

    func addRoutes(to routes: inout RouteHandlers) {
        routes.post(Routes.apps) { request, context in
            let wanted = try await request.controlBody(
                OwnAppRequest.self, example: OwnAppRequest.example)
            return try .json(try await register(wanted, context).report)
        }
        routes.post(Routes.send) { request, context in
            let wanted = try await request.controlBody(
                DriveRequest.self, example: DriveRequest.sendExample,
                limit: ControlLimits.driveBytes)
            return try .json(try await send(wanted, as: context.segment("app"), context))
        }
        routes.post(Routes.inject) { request, context in
            let wanted = try await request.controlBody(
                DriveRequest.self, example: DriveRequest.injectExample,
                limit: ControlLimits.driveBytes)
            return try .json(try await inject(wanted, to: context.segment("app"), context))
        }
        streams.addRoutes(to: &routes)
    }

    /// Ends all streams and all apps of relayd's own.
    func driveIsOff() {
        streams.driveIsOff()
        guard let own else { return }
        // The caller does not wait for their goodbyes.
        Task(executorPreference: LoopExecutor.shared) {
            for name in await own.names {
                events?.add(
                    .control, "relayd leaves as the app \"\(name)\": \(DriveSwitch.off)",
                    appName: name)
                await own.end(name)
            }
        }
    }

    // For requests, and for scenarios that relayd runs.

    // MARK: Apps of relayd's own

    /// - Returns: What was done, and whether the app is new.
    func register(
        _ wanted: OwnAppRequest, _ context: RouteContext
    ) async throws -> (report: OwnAppReport, isNew: Bool) {
        let configuration = try wanted.configuration()
        let own = try await ownApps()
        let name = configuration.name
        if wanted.leave == true {
            try await own.leave(name)
            context.audit("relayd left as the app \"\(name)\"")
            return (OwnAppReport(summary: "\"\(name)\" unregistered and left"), false)
        }
        try context.drive.check()
        let (app, isNew) = try await own.register(configuration)
        try await endIfOff(name, own, context)
        if isNew {
            context.audit("relayd registered as the app \(app) \"\(name)\"")
            events?.add(
                .control, "relayd registered as an app, as somebody asked", app: app, appName: name)
        }
        return (
            OwnAppReport(
                summary: "relayd is the app \"\(name)\"" + (isNew ? "" : ", and was before"),
                app: Int(clamping: app.rawValue)), isNew
        )
    }

    /// Connects the sample app; what it then does shows up in the messages.
    ///
    /// - Throws: `APIError` if relayd already has an app of that name.
    func startSample(_ name: String, appID: String, _ context: RouteContext) async throws {
        let own = try await ownApps()
        let app = try await own.start(.sample(name, appID: appID))
        try await endIfOff(name, own, context)
        context.audit("the sample app \(PrintableText.string(name, limit: 100)) is the app \(app)")
    }

    /// Ends an app that connected while driving was being turned off, and so was not ended with the
    /// others.
    private func endIfOff(
        _ name: String, _ own: OwnApps, _ context: RouteContext
    ) async throws(APIError) {
        do throws(APIError) {
            try context.drive.check()
        } catch {
            await own.end(name)
            throw error
        }
    }

    /// Ends the sample app, which says goodbye if it can.
    func endSample(_ name: String) async { await own?.end(name) }

    private func ownApps() async throws -> OwnApps {
        guard let own else { throw APIError(.conflict, DriveRefusal.noLink.description) }
        guard try await status().accessory.spoken == .sdl else {
            throw APIError(.conflict, DriveRefusal.notSDL.description)
        }
        return own
    }

    // MARK: To the head unit

    /// - Parameter app: Its number, name or app ID.
    func send(
        _ wanted: DriveRequest, as app: String, _ context: RouteContext
    ) async throws -> DriveReport {
        let app = try await apps.find(app)
        if wanted.check == true { return try checked(wanted, from: .app, app) }
        let type = try wanted.rpcType()
        // Before the parameters are checked: nobody should have to correct them in vain.
        if let registration = Self.registration(FunctionID(name: wanted.rpc), type) {
            throw registration
        }
        let built = try build(wanted, type, from: .app, to: app)
        if let registration = Self.registration(built.function, built.type) { throw registration }
        let bulk = try wanted.bulkBytes()
        guard built.type != .response || wanted.correlationID != nil else {
            throw Self.needsCorrelation(built)
        }
        let rpc = DrivenRPC(
            built.function, built.type, built.json, bulk: ByteBuffer(bytes: bulk),
            correlationID: try wanted.correlation())
        try context.drive.check()
        let (answer, milliseconds) = try await drive(
            rpc, .fromApp, app, wanted, what: "\(built.name) to the head unit")
        var report = DriveReport(
            summary: "", app: app.id, rpc: built.name, type: built.type.name,
            remarks: built.remarks.map(\.description), milliseconds: milliseconds)
        let name = Self.name(app)
        switch answer {
        case .response(let message): try report.add(message)
        case .passedOn: break
        case .tooLate, .sessionOver: break
        }
        let result = report.resultCode.map { $0.isEmpty ? "no result code" : $0 } ?? "sent"
        report.summary =
            "\(built.name) was sent in the place of \(name)"
            + (report.resultCode == nil ? "" : ": \(result)")
        context.audit(
            "\(built.name)\(wanted.unchecked == true ? " (unchecked)" : "") to the head unit as \(name): "
                + "\(result) after \(milliseconds) ms")
        return report
    }

    /// The error for an RPC that would make head unit, app and relayd disagree about who is
    /// registered.
    private static func registration(_ function: FunctionID?, _ type: RPCType?) -> APIError? {
        guard type ?? .request == .request else { return nil }
        switch function {
        case .registerAppInterface:
            return APIError(
                .conflict,
                "RegisterAppInterface in an app's own session would register it twice; the app does it "
                    + "itself")
        case .unregisterAppInterface:
            return APIError(
                .conflict,
                "UnregisterAppInterface in an app's own session would leave an app that does not know that "
                    + "it is not registered; relayctl disconnect ends its sessions on both sides")
        default: return nil
        }
    }

    // MARK: To an app

    /// - Parameter app: Its number, name or app ID.
    func inject(
        _ wanted: DriveRequest, to app: String, _ context: RouteContext
    ) async throws -> DriveReport {
        let app = try await apps.find(app)
        if wanted.check == true { return try checked(wanted, from: .accessory, app) }
        let type = try Self.injected(wanted)
        guard wanted.bulk == nil else {
            throw APIError(.badRequest, "bulk goes to the head unit only; leave it out")
        }
        let built = try build(wanted, type, from: .accessory, to: app)
        guard type != .response || wanted.correlationID != nil else {
            throw Self.needsCorrelation(built)
        }
        let rpc = DrivenRPC(
            built.function, type, built.json, correlationID: try wanted.correlation())
        let name = Self.name(app)
        try context.drive.check()
        let (_, milliseconds) = try await drive(
            rpc, .fromAccessory, app, wanted, what: "\(built.name) to \(name)")
        let unit = (try await status()).accessory.address
        context.audit(
            "\(built.name)\(wanted.unchecked == true ? " (unchecked)" : "") to \(name) in the place of the "
                + "head unit \(PrintableText.string(unit, limit: 100))")
        return DriveReport(
            summary:
                "\(built.name) was said to \(name) by relayd; the head unit has not said it and does not "
                + "know of it",
            app: app.id, rpc: built.name, type: type.name,
            remarks: built.remarks.map(\.description), milliseconds: milliseconds)
    }

    private static func injected(_ wanted: DriveRequest) throws(APIError) -> RPCType {
        let type = try wanted.rpcType() ?? .notification
        guard type != .request else {
            throw APIError(
                .badRequest,
                "a request to an app would be answered to the head unit, which has not asked; expected "
                    + "type \"notification\" or \"response\"")
        }
        return type
    }

    // MARK: Compared only

    /// The result to expect, as far as relayd can tell without sending the RPC.
    private func checked(
        _ wanted: DriveRequest, from sender: RPCSender, _ app: AppStatus
    ) throws -> DriveReport {
        let type = sender == .app ? try wanted.rpcType() : try Self.injected(wanted)
        var report = DriveReport(
            summary: "", app: app.id, rpc: PrintableText.string(wanted.rpc, limit: 100),
            type: (type ?? .request).name, remarks: [], milliseconds: 0)
        do {
            let built = try order(wanted, type, from: sender, to: app)
            if sender == .app,
                let registration = Self.registration(built.function, built.type)
            {
                throw registration
            }
            (report.rpc, report.type) = (built.name, built.type.name)
            report.remarks = built.remarks.map(\.description)
        } catch let error as RPCBuildError {
            report.refusal = "\(error)"
            report.problems = error.problems.map { DriveProblem(path: $0.path, message: $0.text) }
        } catch let error as APIError {
            report.refusal = error.error.message
        }
        report.summary =
            "nothing was said; \(report.rpc) "
            + (report.refusal == nil ? "would be" : "would not be")
        return report
    }

    // MARK: Pieces

    private func build(
        _ wanted: DriveRequest, _ type: RPCType?, from sender: RPCSender, to app: AppStatus
    ) throws -> BuiltRPC {
        do {
            return try order(wanted, type, from: sender, to: app)
        } catch let error as RPCBuildError {
            throw APIError(.badRequest, "\(error)")
        }
    }

    /// - Throws: `RPCBuildError`, or `APIError` if `set` has too many parameters.
    private func order(
        _ wanted: DriveRequest, _ type: RPCType?, from sender: RPCSender, to app: AppStatus
    ) throws -> BuiltRPC {
        let assignments = wanted.set ?? []
        guard assignments.count <= DriveRequest.maximumAssignments else {
            throw APIError(
                .badRequest,
                "\"set\" has \(assignments.count) parameters; expected at most "
                    + "\(DriveRequest.maximumAssignments)")
        }
        let version = facts.facts(of: AppID(rawValue: UInt64(app.id)))?.rpcVersion
        var parsed: [RPCAssignment] = []
        for text in assignments { parsed.append(try RPCAssignment(text)) }
        return try builder.build(
            .init(
                wanted.rpc, type: type, parameters: try wanted.parameterObject(),
                assignments: parsed, isUnchecked: wanted.unchecked ?? false),
            from: sender, negotiated: version)
    }

    /// - Returns: The result, and the time it took.
    private func drive(
        _ rpc: DrivenRPC, _ direction: Direction, _ app: AppStatus, _ wanted: DriveRequest,
        what: String
    ) async throws -> (DrivenAnswer, milliseconds: Double) {
        let timeout = try wanted.timeout()
        let session = try wanted.sessionNumber()
        guard let relay else { throw APIError(.conflict, DriveRefusal.noLink.description) }
        let start = NIODeadline.now()
        // Nil if the client has left, or the scenario that asked was ended.
        let answer: DrivenAnswer?
        do {
            answer = try await relay.drive(
                rpc, direction, app: AppID(rawValue: UInt64(app.id)), session: session,
                patience: timeout)
        } catch let refusal as DriveRefusal {
            throw APIError(.conflict, "nothing was said: \(refusal)")
        } catch is CancellationError {
            answer = nil
        }
        let milliseconds = Double((NIODeadline.now() - start).nanoseconds / 1000) / 1000
        if direction == .fromApp || answer == .passedOn {
            events?.add(
                .control, "relayd said \(what), as somebody asked",
                app: AppID(rawValue: UInt64(app.id)), appName: app.appName)
        }
        switch answer {
        case .response(let message)?: return (.response(message), milliseconds)
        case .passedOn?: return (.passedOn, milliseconds)
        case nil:
            throw APIError(
                .noAnswer,
                direction == .fromApp
                    ? "\(what): whoever asked has not waited for the answer; one that comes later reaches nobody"
                    : "\(what): not said, because whoever asked has not waited for it")
        case .tooLate:
            let waited = "\(timeout.nanoseconds / 1_000_000) ms"
            throw APIError(
                .noAnswer,
                direction == .fromApp
                    ? "\(what): no answer within \(waited); one that comes later reaches nobody"
                    : "\(what): not said, because a message of the head unit's was half delivered for all "
                        + "of \(waited)")
        case .sessionOver:
            throw APIError(
                .conflict, "\(what): the session or the link ended before there was an answer")
        }
    }

    private static func needsCorrelation(_ built: BuiltRPC) -> APIError {
        APIError(
            .badRequest,
            "a response answers a request; expected \"correlation_id\", which relayctl tail shows behind "
                + "\(built.name) as #NUMBER")
    }

    private static func name(_ app: AppStatus) -> String {
        "app #\(app.id)"
            + (app.appName.map { " (\(PrintableText.string($0, limit: 100)))" } ?? "")
    }
}

// MARK: - The body

extension DriveRequest {
    static let sendExample = #"{"rpc": "Show", "parameters": {"mainField1": "Hello"}}"#
    static let injectExample =
        #"{"rpc": "OnButtonPress", "set": ["buttonName=OK", "buttonPressMode=SHORT"]}"#

    fileprivate func rpcType() throws(APIError) -> RPCType? {
        guard let type else { return nil }
        guard let known = RPCType(name: type) else {
            throw APIError(
                .badRequest,
                "\"type\" is \"\(PrintableText.string(type, limit: 40))\"; expected request, response or "
                    + "notification")
        }
        return known
    }

    fileprivate func parameterObject() throws(RPCBuildError) -> JSONObject? {
        guard let parameters else { return nil }
        guard let json = try? APICoding.encodeLine(parameters),
            let object = try? JSONObject(ByteBuffer(bytes: json))
        else { throw RPCBuildError(notAnObject: "parameters") }
        return object
    }

    fileprivate func bulkBytes() throws(APIError) -> [UInt8] {
        guard let bulk else { return [] }
        guard let bytes = Base64.decoded(bulk) else {
            throw APIError(.badRequest, "\"bulk\" is no base64 (RFC 4648, 4)")
        }
        guard bytes.count <= Self.maximumBulk else {
            throw APIError(
                .tooLarge,
                "\"bulk\" has \(bytes.count) bytes; expected at most \(Self.maximumBulk), and larger files "
                    + "in pieces with offset and length")
        }
        return bytes
    }

    fileprivate func timeout() throws(APIError) -> TimeAmount {
        let timeout = timeoutMilliseconds ?? Self.usualTimeout
        guard Self.timeouts.contains(timeout) else {
            throw APIError(
                .badRequest,
                "\"timeout_milliseconds\" is \(timeout); expected \(Self.timeouts.lowerBound) to "
                    + "\(Self.timeouts.upperBound)")
        }
        return .milliseconds(Int64(timeout))
    }

    fileprivate func sessionNumber() throws(APIError) -> UInt8? {
        guard let session else { return nil }
        guard let number = UInt8(exactly: session), number > 0 else {
            throw APIError(.badRequest, "\"session\" is \(session); expected 1 to 255")
        }
        return number
    }

    fileprivate func correlation() throws(APIError) -> Int32? {
        guard let correlationID else { return nil }
        guard let number = Int32(exactly: correlationID) else {
            throw APIError(
                .badRequest,
                "\"correlation_id\" is \(correlationID); expected \(Int32.min) to \(Int32.max)")
        }
        return number
    }
}

extension DriveReport {
    /// Adds the head unit's answer.
    fileprivate mutating func add(_ message: Message) throws {
        do {
            let rpc = try RPCMessage(message)
            let outcome = RPCOutcome(rpc)
            success = outcome?.success ?? false
            resultCode = outcome?.resultCode ?? ""
            info = rpc.parameters.string("info")
            if rpc.bulkBytes > 0 { bulkBytes = rpc.bulkBytes }
            response = try? APICoding.decode(
                AnyJSON.self, from: Array(rpc.parameters.bytes.readableBytesView))
        } catch {
            success = false
            resultCode = ""
            info = "the answer cannot be read: \(error)"
        }
    }
}
