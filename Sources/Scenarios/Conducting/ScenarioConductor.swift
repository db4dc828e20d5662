package import ControlAPI
package import NIOCore

/// Runs one scenario to its end: receives messages, makes its bench do what `ScenarioRun` asks for, keeps the
/// time, and undoes what was added. relayctl has one for each file, relayd one for each run requested through
/// its API.
package struct ScenarioConductor: Sendable {
    /// Callbacks that report progress, called from the running task.
    package struct Progress: Sendable {
        /// The run sees the traffic from now on.
        package var begins: @Sendable () -> Void
        /// A step is waiting for something.
        package var isAt: @Sendable (ScenarioResult.Step) -> Void
        /// Steps are over, in their order.
        package var over: @Sendable ([ScenarioResult.Step]) -> Void

        package init(
            begins: @escaping @Sendable () -> Void,
            isAt: @escaping @Sendable (ScenarioResult.Step) -> Void = { _ in },
            over: @escaping @Sendable ([ScenarioResult.Step]) -> Void
        ) {
            (self.begins, self.isAt, self.over) = (begins, isAt, over)
        }
    }

    private enum Event: Sendable {
        case messages([ScenarioMessage])
        case reply(Int, ScenarioReply)
        case tick
        /// The run has to stop, and why.
        case stopped(String)
    }

    private let scenario: Scenario
    private let values: [String: AnyJSON]
    private let performer: ScenarioPerformer
    private let timers: any EventLoop
    private let executor: (any TaskExecutor)?
    private let progress: Progress?
    private let events: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation

    /// How long to wait for requests that are open at the end.
    static let patience = TimeAmount.seconds(15)

    /// - Parameters:
    ///   - values: Values of variables chosen for this run.
    ///   - timers: Runs the timers.
    ///   - executor: Where the bench is called; nil for the default executor.
    package init(
        _ scenario: Scenario, values: [String: AnyJSON], on bench: any ScenarioBench,
        mayHarmOthers: Bool, timers: any EventLoop, executor: (any TaskExecutor)? = nil,
        progress: Progress? = nil
    ) {
        self.scenario = scenario
        self.values = values
        performer = ScenarioPerformer(
            bench, mayHarmOthers: mayHarmOthers, executor: executor)
        (self.timers, self.executor, self.progress) = (timers, executor, progress)
        (events, continuation) = AsyncStream.makeStream()
    }

    // MARK: From anywhere

    /// Takes messages that have passed; the caller has to give all of them, in their order. May be called
    /// before `run`.
    package func tell(_ messages: [ScenarioMessage]) { continuation.yield(.messages(messages)) }

    /// Stops the run: no more messages can arrive, or somebody wants it to end.
    package func stop(_ reason: String) { continuation.yield(.stopped(reason)) }

    // MARK: Running

    /// Returns when everything that was added has been undone. Runs once.
    ///
    /// - Parameter file: Name of the file in the result.
    package func run(file: String) async -> ScenarioResult {
        var run = ScenarioRun(scenario, values: values)
        await follow(&run)
        continuation.finish()
        let problem = await performer.cleanUp(faults: run.faults)
        var result = run.result(file: file)
        if let problem {
            result.outcome = .unusable
            result.problem = result.problem ?? problem
        }
        return result
    }

    private func follow(_ run: inout ScenarioRun) async {
        let start = timers.now
        // One after the other: rules apply in the order in which they are added.
        let (requests, asking) = AsyncStream.makeStream(of: ScenarioRequest.self)
        // Not a child task: a request that is never answered is not waited for.
        let worker = Task(executorPreference: executor) { [performer, continuation] in
            for await request in requests {
                continuation.yield(.reply(request.id, await performer.perform(request.action)))
            }
        }
        defer {
            asking.finish()
            worker.cancel()
        }
        var alarm: Scheduled<Void>?
        defer { alarm?.cancel() }
        /// Wakes this loop when only time has passed.
        func wake(at deadline: NIODeadline) {
            alarm?.cancel()
            alarm = timers.scheduleTask(deadline: deadline) { [continuation] in
                continuation.yield(.tick)
            }
        }
        progress?.begins()
        run.begin()
        var teller = ProgressTeller(progress)
        defer { teller.tell(run) }
        var end: NIODeadline?
        var iterator = events.makeAsyncIterator()
        while true {
            for request in run.takeRequests() { asking.yield(request) }
            teller.tell(run)
            if run.outcome == nil {
                if let deadline = run.nextDeadline { wake(at: start + TimeAmount(deadline)) }
            } else {
                await performer.giveUp()
                guard run.isWaitingForReplies else { return }
                let last = end ?? timers.now + Self.patience
                guard timers.now < last else { return }
                if end == nil { wake(at: last) }
                end = last
            }
            guard let event = await iterator.next() else { return }
            let now = Duration(timers.now - start)
            switch event {
            case .messages(let messages): run.receive(messages, at: now)
            case .reply(let id, let reply): run.receive(reply, to: id, at: now)
            case .tick: run.advance(to: now)
            case .stopped(let reason): run.stop(reason)
            }
        }
    }
}

/// Reports each step once when it starts waiting, and once when it is over.
private struct ProgressTeller {
    private let progress: ScenarioConductor.Progress?
    /// Number of steps reported as over, and the number of the step reported as waiting.
    private var told = 0
    private var taken = 0

    init(_ progress: ScenarioConductor.Progress?) { self.progress = progress }

    mutating func tell(_ run: ScenarioRun) {
        guard let progress else { return }
        let over = run.steps.dropFirst(told).prefix {
            run.outcome != nil || $0.outcome != .skipped
        }
        if !over.isEmpty {
            told += over.count
            progress.over(Array(over))
        }
        guard let step = run.stepTaken, step.number != taken else { return }
        taken = step.number
        progress.isAt(step)
    }
}
