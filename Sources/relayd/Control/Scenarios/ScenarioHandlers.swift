import ControlAPI
import NIOCore
import SDLProtocol
import SDLTraffic
import Scenarios

/// Runs scenarios inside relayd, checks them, and lists the ready ones. `ControlResponder` has decided
/// before who may do so.
struct ScenarioHandlers: Sendable {
    let status: @Sendable () async throws -> StatusSnapshot
    let apps: AppHandlers
    let messages: MessageHandlers
    let writes: WriteHandlers
    let driving: DriveHandlers
    let faults: FaultHandlers
    /// Whether anybody may drive the conversation.
    let drive: DriveSwitch
    let events: EventRing
    /// Where scenarios run.
    let executor: (any TaskExecutor)?
    private let running = RunningScenario()

    init(
        status: @escaping @Sendable () async throws -> StatusSnapshot, apps: AppHandlers,
        messages: MessageHandlers, writes: WriteHandlers, driving: DriveHandlers,
        faults: FaultHandlers, drive: DriveSwitch, events: EventRing,
        executor: (any TaskExecutor)?
    ) {
        (self.status, self.apps, self.messages) = (status, apps, messages)
        (self.writes, self.driving, self.faults) = (writes, driving, faults)
        (self.drive, self.events, self.executor) = (drive, events, executor)
    }

    func addRoutes(to routes: inout RouteHandlers) {
        routes.get(Routes.scenarios) { _, _ in
            try ControlResponse.json(
                ScenarioList(running: running.name, scenarios: Self.ready))
        }
        routes.post(Routes.scenarioCheck) { request, _ in
            try ControlResponse.json(Self.check(try await ScenarioRequest.text(of: request)))
        }
        routes.post(Routes.scenarioRun) { request, context in try await run(request, context) }
        routes.delete(Routes.scenarioRun) { _, context in try stop(context) }
    }

    // MARK: Looking

    private static let ready = ReadyScenario.all.compactMap { ready -> ReadyScenarioReport? in
        guard let scenario = try? ScenarioReader.read(ready.text) else { return nil }
        return ReadyScenarioReport(
            name: ready.name, scenario: scenario.name, about: scenario.about,
            apps: scenario.apps.map(\.role), variables: scenario.variables, text: ready.text)
    }

    private static func check(_ text: String) -> ScenarioCheckReport {
        do throws(ScenarioErrors) {
            let scenario = try ScenarioReader.read(text)
            let steps = ScenarioRun(scenario).steps
            return ScenarioCheckReport(
                summary: "the scenario can be run: \(count(steps.count, "step"))",
                scenario: scenario.name, apps: scenario.apps.map(\.role),
                variables: scenario.variables,
                steps: steps.map { ScenarioStepReport($0, outcome: "open") })
        } catch {
            return ScenarioCheckReport(
                summary: "the scenario has \(count(error.problems.count, "mistake"))",
                problems: error.problems.map { ScenarioProblemReport($0) })
        }
    }

    private static func count(_ count: Int, _ noun: String) -> String {
        "\(count) \(noun)\(count == 1 ? "" : "s")"
    }

    // MARK: Running

    private func run(
        _ request: ControlRequest, _ context: RouteContext
    ) async throws -> ControlResponse {
        try messages.refuseIfOff()
        let wanted = try await ScenarioRequest(request)
        let name = PrintableText.string(wanted.scenario.name, limit: 100)
        let framing = StreamFraming(request)
        let share = try context.streamPlace(request)
        let place = try running.begin(name)
        // Earlier messages are not part of the run, also those that the observers have yet to see.
        await messages.catchUp()
        try drive.check()
        let start = messages.ring.latest
        let run = ScenarioStream(
            wanted: wanted, name: name, bench: HandlerBench(self, context),
            ring: messages.ring, start: start, framing: framing,
            timers: messages.timers, heartbeat: messages.heartbeat, executor: executor)
        return ControlResponse(
            .ok, .ofMoment(framing.contentType),
            body: .pieces { writer in
                defer { withExtendedLifetime(share) {} }
                tell("the scenario \"\(name)\" begins", context)
                try await run.run(writer, place) { result in
                    tell("the scenario \"\(name)\" \(Self.words(result))", context)
                }
            })
    }

    private func stop(_ context: RouteContext) throws -> ControlResponse {
        guard let name = running.stop("ended, as somebody asked") else {
            return try .json(ActionReport(summary: "no scenario runs"))
        }
        context.audit("ended the scenario \"\(name)\"")
        return try .json(
            ActionReport(summary: "the scenario \"\(name)\" ends, and takes back what it has added")
        )
    }

    /// Ends the running scenario.
    func driveIsOff() { _ = running.stop(DriveSwitch.off) }

    private func tell(_ what: String, _ context: RouteContext) {
        context.audit(what)
        events.add(.control, what + ", as somebody asked")
    }

    /// The result, for the log.
    private static func words(_ result: ScenarioResult) -> String {
        let failed = result.steps.first { $0.failure != nil }
        let reason = failed?.failure?.summary ?? result.problem
        let step = failed.map { ", step \($0.number)" } ?? ""
        return
            "\(result.outcome == .unusable ? "could not be used" : result.outcome.rawValue)\(step)"
            + (reason.map { ": \(PrintableText.string($0, limit: 300))" } ?? "")
    }
}
