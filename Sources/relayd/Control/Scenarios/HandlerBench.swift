import ControlAPI
import SDLProtocol
import Scenarios

/// Performs the actions of a scenario with relayd's own handlers, as if the person who runs it had asked for
/// each of them: each one is logged with their name. Created by `ScenarioHandlers` for each run.
actor HandlerBench: ScenarioBench {
    private let handlers: ScenarioHandlers
    private let context: RouteContext
    private var samples: [String] = []
    /// Apps of relayd's own that this run has registered.
    private var ownApps: Set<String> = []

    init(_ handlers: ScenarioHandlers, _ context: RouteContext) {
        (self.handlers, self.context) = (handlers, context)
    }

    func apps() async throws(ScenarioBenchError) -> [AppStatus] {
        // An app that registered a moment ago is one of them.
        await handlers.messages.catchUp()
        return try await asking { try await handlers.status().apps }
    }

    func commands(of app: Int) async throws(ScenarioBenchError) -> [CommandReport] {
        try await asking { try await handlers.apps.app("\(app)").menu.commands }
    }

    // MARK: Saying

    func inject(_ request: DriveRequest, to app: Int) async throws(ScenarioBenchError) {
        try await driving {
            _ = try await handlers.driving.inject(request, to: "\(app)", context)
        }
    }

    func send(
        _ request: DriveRequest, as app: Int
    ) async throws(ScenarioBenchError) -> DriveReport {
        try await driving { try await handlers.driving.send(request, as: "\(app)", context) }
    }

    // MARK: Faults

    func addFaults(_ request: FaultRequest) async throws(ScenarioBenchError) -> [Int] {
        try await driving { try await handlers.faults.add(request, context).rules.map(\.id) }
    }

    func removeFault(_ rule: Int) async throws(ScenarioBenchError) {
        try await asking {
            do {
                _ = try await handlers.faults.remove("\(rule)", context)
            } catch let error as APIError where error.error.code == .notFound {}
        }
    }

    // MARK: Apps

    func disconnect(_ app: Int) async throws(ScenarioBenchError) {
        try await driving {
            context.audit(try await handlers.writes.disconnect("\(app)", "a scenario").summary)
        }
    }

    func register(_ app: OwnAppRequest) async throws(ScenarioBenchError) -> Int? {
        try await driving {
            let (report, isNew) = try await handlers.driving.register(app, context)
            if isNew { ownApps.insert(app.name) }
            return report.app
        }
    }

    func leave(_ name: String) async {
        guard ownApps.remove(name) != nil else { return }
        _ = try? await handlers.driving.register(OwnAppRequest(name: name, leave: true), context)
    }

    func startSample(_ name: String, appID: String) async throws(ScenarioBenchError) {
        try await driving {
            try await handlers.driving.startSample(name, appID: appID, context)
            samples.append(name)
        }
    }

    func endSamples() async {
        for name in samples { await handlers.driving.endSample(name) }
        samples = []
    }

    // MARK: Pieces

    /// Runs an action that is allowed only while `drive.enabled` is true, which a reload may
    /// change.
    private func driving<Answer>(
        _ body: () async throws -> Answer
    ) async throws(ScenarioBenchError) -> Answer {
        try await asking {
            do {
                try handlers.drive.check()
                return try await body()
            } catch let error as APIError {
                // The RPC may have been sent all the same: perhaps only the answer is missing.
                let reason = PrintableText.string(error.error.message, limit: 300)
                context.audit("a step of the scenario failed: \(reason)")
                throw error
            }
        }
    }

    private func asking<Answer>(
        _ body: () async throws -> Answer
    ) async throws(ScenarioBenchError) -> Answer {
        do {
            return try await body()
        } catch let error as APIError {
            throw ScenarioBenchError(error.error.code, error.error.message)
        } catch {
            throw .unusable("\(error)")
        }
    }
}
