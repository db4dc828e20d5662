import ControlAPI
import NIOCore
import SDLProtocol
import SDLTraffic
import Scenarios
import ServiceLifecycle

/// The answer to `POST /v1/scenarios/run`: runs the scenario and reports its steps, until it is over. If the
/// client leaves, the scenario ends; its end is still awaited, so that nothing it has added is left behind.
struct ScenarioStream: Sendable {
    let wanted: ScenarioRequest
    /// Printable.
    let name: String
    let bench: HandlerBench
    let ring: MessageRing
    /// The message to begin after.
    let start: UInt64
    let framing: StreamFraming
    /// Runs the timers of the scenario.
    let timers: any EventLoop
    /// Interval of the heartbeat when nothing happens.
    let heartbeat: TimeAmount
    let executor: (any TaskExecutor)?

    /// Returns when the scenario is over and the client has got everything or has left.
    ///
    /// - Parameter ended: Called with the result. The place is free by then, however slow the
    ///   client is.
    /// - Throws: If the client has not got everything.
    func run(
        _ writer: ResponseWriter, _ place: RunningScenario.Place,
        ended: @escaping @Sendable (ScenarioResult) -> Void
    ) async throws {
        let (events, telling) = AsyncStream.makeStream(of: ScenarioEvent.self)
        let conductor = conductor(telling)
        place.stops { conductor.stop($0) }
        // Not child tasks: the run continues to its end if this task is cancelled.
        let reader = Task(executorPreference: executor) { await feed(conductor) }
        let running = Task(executorPreference: executor) {
            let result = await conductor.run(file: name)
            ended(result)
            place.giveBack()
            telling.yield(
                ScenarioEvent(
                    .ended, outcome: result.outcome.rawValue, seconds: result.time.asSeconds,
                    problem: result.problem))
            telling.finish()
        }
        let pulse = timers.scheduleRepeatedTask(initialDelay: heartbeat, delay: heartbeat) { _ in
            telling.yield(ScenarioEvent(.waiting))
        }
        defer {
            pulse.cancel()
            reader.cancel()
        }
        let written = await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await write(events, to: writer)
            } onGracefulShutdown: {
                conductor.stop("relayd stops")
            }
        } onCancel: {
            conductor.stop("the client has left")
        }
        if case .failure = written { conductor.stop("the client has left") }
        await running.value
        try written.get()
    }

    private func conductor(
        _ telling: AsyncStream<ScenarioEvent>.Continuation
    ) -> ScenarioConductor {
        let steps = ScenarioRun(wanted.scenario, values: wanted.values).steps
        let title = wanted.scenario.name
        return ScenarioConductor(
            wanted.scenario, values: wanted.values, on: bench,
            mayHarmOthers: wanted.mayHarmOthers, timers: timers, executor: executor,
            progress: ScenarioConductor.Progress(
                begins: {
                    telling.yield(
                        ScenarioEvent(
                            .begun, scenario: title,
                            steps: steps.map { ScenarioStepReport($0, outcome: "open") }))
                },
                isAt: { step in
                    telling.yield(
                        ScenarioEvent(.step, step: ScenarioStepReport(step, outcome: "running")))
                },
                over: { steps in
                    for step in steps {
                        telling.yield(ScenarioEvent(.step, step: ScenarioStepReport(step)))
                    }
                }))
    }

    // MARK: Events out

    private func write(
        _ events: AsyncStream<ScenarioEvent>, to writer: ResponseWriter
    ) async -> Result<Void, any Error> {
        do {
            var number = 0
            for await event in events {
                number += 1
                let json = String(decoding: try APICoding.encodeLine(event), as: UTF8.self)
                let text =
                    event.event == .waiting
                    ? framing.note(json, ring.instance, next: nil)
                    : framing.prefix(ring.instance, number) + json + framing.suffix
                try await writer.write(ByteBuffer(string: text))
            }
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    // MARK: Messages in

    /// Entries converted to messages before yielding.
    private static let entriesPerLook = 64

    /// Passes the traffic to the conductor, until the task is cancelled.
    private func feed(_ conductor: ScenarioConductor) async {
        var formatter = MessageFormatter(.json, hasColours: false)
        var line = ByteBuffer()
        var cursor = start
        let waiter = Waiter()
        while !Task.isCancelled {
            let reading = ring.messages(
                after: cursor, limit: Self.entriesPerLook, looks: MessageStream.looks)
            cursor = reading.next
            if reading.missed > 0 {
                conductor.stop(
                    "\(reading.missed) messages were missed: relayd keeps a limited number")
            }
            let messages = reading.entries.compactMap { entry -> ScenarioMessage? in
                line.clear()
                formatter.append(entry, to: &line)
                return (try? JSONObject(line)).flatMap { ScenarioMessage($0) }
            }
            if !messages.isEmpty { conductor.tell(messages) }
            if reading.isAtEnd {
                await ring.wait(waiter, after: cursor)
            } else {
                await Task.yield()
            }
        }
    }
}
