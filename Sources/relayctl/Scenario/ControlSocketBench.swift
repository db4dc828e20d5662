import ControlAPI
import NIOCore
import Scenarios

/// Carries out the actions of a scenario through the control API of a running relayd. Made by
/// `ScenarioRunner` for each run.
actor ControlSocketBench: ScenarioBench {
    private let client: ControlClient
    private var samples: [ScenarioSampleApp] = []

    init(_ client: ControlClient) { self.client = client }

    func apps() async throws(ScenarioBenchError) -> [AppStatus] {
        try await asking { try await client.ask(AppList.self, Routes.apps).value.apps }
    }

    func commands(of app: Int) async throws(ScenarioBenchError) -> [CommandReport] {
        try await asking {
            try await client.ask(AppReport.self, Routes.path(Routes.app, "\(app)")).value.menu
                .commands
        }
    }

    // MARK: Saying

    func inject(_ request: DriveRequest, to app: Int) async throws(ScenarioBenchError) {
        try await asking {
            _ = try await client.change(
                DriveReport.self, "POST", Routes.path(Routes.inject, "\(app)"), request)
        }
    }

    func send(
        _ request: DriveRequest, as app: Int
    ) async throws(ScenarioBenchError) -> DriveReport {
        let client = patient(request.timeoutMilliseconds ?? DriveRequest.usualTimeout)
        return try await asking {
            try await client.change(
                DriveReport.self, "POST", Routes.path(Routes.send, "\(app)"), request
            ).value
        }
    }

    // MARK: Faults

    func addFaults(_ request: FaultRequest) async throws(ScenarioBenchError) -> [Int] {
        try await asking {
            try await client.change(FaultList.self, "POST", Routes.faults, request).value
                .rules.map(\.id)
        }
    }

    func removeFault(_ rule: Int) async throws(ScenarioBenchError) {
        try await asking {
            do {
                _ = try await client.change(
                    ActionReport.self, "DELETE", Routes.path(Routes.fault, "\(rule)"))
            } catch let error as ControlClientError {
                guard case .refused(_, _, _, _, .notFound?, _) = error else { throw error }
            }
        }
    }

    // MARK: Apps

    func disconnect(_ app: Int) async throws(ScenarioBenchError) {
        try await asking {
            _ = try await client.change(
                ActionReport.self, "POST", Routes.path(Routes.disconnect, "\(app)"),
                ReasonRequest(reason: "a scenario"))
        }
    }

    func register(_ app: OwnAppRequest) async throws(ScenarioBenchError) -> Int? {
        let client = patient(2 * OwnAppRequest.patience)
        return try await asking {
            try await client.change(OwnAppReport.self, "POST", Routes.apps, app).value.app
        }
    }

    func leave(_ name: String) async {
        _ = try? await client.change(
            OwnAppReport.self, "POST", Routes.apps, OwnAppRequest(name: name, leave: true))
    }

    func startSample(_ name: String, appID: String) async throws(ScenarioBenchError) {
        try await asking {
            samples.append(try await ScenarioSampleApp.start(name, appID, client))
        }
    }

    func endSamples() async {
        for sample in samples { await sample.leave() }
        samples = []
    }

    // MARK: Pieces

    /// A client for requests that relayd answers only after the given additional time. They end early
    /// with the run.
    private func patient(_ milliseconds: Int) -> ControlClient {
        var client = client
        client.endsWithTask = true
        client.timeout = client.timeout + .milliseconds(Int64(milliseconds))
        return client
    }

    /// Runs `body` and separates errors of the scenario or the bench from refusals.
    private func asking<Answer>(
        _ body: () async throws -> Answer
    ) async throws(ScenarioBenchError) -> Answer {
        do {
            return try await body()
        } catch let error as ControlClientError {
            guard case .refused(_, _, _, _, let code, let message) = error else {
                throw .unusable(SafeText.line("\(error)"))
            }
            throw ScenarioBenchError(code, message)
        } catch {
            throw .refused(SafeText.line("\(error)"))
        }
    }
}
