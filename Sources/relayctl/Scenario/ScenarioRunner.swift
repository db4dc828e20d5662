import ControlAPI
import Glibc
import NIOCore
import Scenarios

/// Runs one scenario against a running relayd: `ScenarioRun` decides, this carries out. Used by
/// `relayctl run`.
struct ScenarioRunner: Sendable {
    let client: ControlClient
    let scenario: Scenario
    /// In reports.
    let file: String
    /// Of variables that whoever runs it has chosen.
    var values: [String: AnyJSON] = [:]
    var mayHarmOthers = false
    /// The trace that is written meanwhile; nil for none.
    var recording: String?
    /// Told when it begins to see what passes, and of steps that are over.
    var progress: Progress?

    struct Progress: Sendable {
        var begins: @Sendable () -> Void
        var over: @Sendable ([ScenarioResult.Step]) -> Void
    }

    enum Event: Sendable {
        case messages([ScenarioMessage])
        case reply(Int, ScenarioReply)
        case tick
        /// Nothing can be waited for any more, and why.
        case lost(String)
    }

    /// How long requests that are open at the end are waited for.
    private static let patience = Duration.seconds(15)

    /// Runs it to its end, and takes back what it has added.
    ///
    /// - Parameter interruption: Tells when somebody wants it to end early.
    func run(_ interruption: ScenarioInterruption) async -> ScenarioResult {
        let place: StreamPlace
        var recorder: ScenarioRecorder?
        do {
            place = try await client.ask(StreamPlace.self, Routes.messages + "?limit=1").value
            if let recording {
                recorder = try ScenarioRecorder(recording, client)
                try await recorder?.begin()
            }
        } catch {
            return ScenarioResult(file: file, problem: SafeText.line("\(error)"))
        }
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        let started = Timestamp.now
        let performer = ScenarioPerformer(client, mayHarmOthers: mayHarmOthers)
        let reader = Task {
            // Ends with this run.
            await Self.read(client, from: place) { continuation.yield($0) }
        }
        interruption.tell { continuation.yield(.lost("interrupted")) }
        var run = ScenarioRun(scenario, values: values)
        await follow(&run, events, continuation, performer)
        interruption.tell(nil)
        reader.cancel()
        let kept = await performer.cleanUp(faults: run.faults)
        var result = run.result(file: file)
        if let problem = kept {
            result.outcome = .unusable
            result.problem = result.problem ?? problem
        }
        result.started = started
        if let recorder {
            let problem = await recorder.end()
            result.recording = recording
            if let problem, result.problem == nil {
                result.problem = problem
                result.outcome = .unusable
            }
        }
        return result
    }

    private func follow(
        _ run: inout ScenarioRun, _ events: AsyncStream<Event>,
        _ continuation: AsyncStream<Event>.Continuation, _ performer: ScenarioPerformer
    ) async {
        let clock = ContinuousClock()
        let start = clock.now
        // One after the other: rules act in the order in which they are added.
        let (requests, asking) = AsyncStream.makeStream(of: ScenarioRequest.self)
        let worker = Task {
            for await request in requests {
                continuation.yield(.reply(request.id, await performer.perform(request.action)))
            }
        }
        defer {
            asking.finish()
            worker.cancel()
        }
        var alarm: Task<Void, Never>?
        defer { alarm?.cancel() }
        /// Wakes this up when time alone makes a difference.
        func wake(at deadline: Duration) {
            alarm?.cancel()
            alarm = Task {
                try? await clock.sleep(until: start + deadline)
                guard !Task.isCancelled else { return }
                continuation.yield(.tick)
            }
        }
        progress?.begins()
        run.begin()
        var told = 0
        /// Steps that are over in the order in which they were, and at the end all others.
        func tellSteps() {
            let steps = run.steps
            let over = steps.dropFirst(told).prefix { run.outcome != nil || $0.outcome != .skipped }
            guard !over.isEmpty else { return }
            told += over.count
            progress?.over(Array(over))
        }
        defer { tellSteps() }
        var end: Duration?
        var iterator = events.makeAsyncIterator()
        while true {
            for request in run.takeRequests() { asking.yield(request) }
            tellSteps()
            if run.outcome == nil {
                if let deadline = run.nextDeadline { wake(at: deadline) }
            } else {
                guard run.isWaitingForReplies else { return }
                let now = start.duration(to: clock.now)
                let last = end ?? now + Self.patience
                guard now < last else { return }
                if end == nil { wake(at: last) }
                end = last
            }
            guard let event = await iterator.next() else { return }
            let now = start.duration(to: clock.now)
            switch event {
            case .messages(let messages): run.receive(messages, at: now)
            case .reply(let id, let reply): run.receive(reply, to: id, at: now)
            case .tick: run.advance(to: now)
            case .lost(let reason): run.stop(reason)
            }
        }
    }

    // MARK: Messages

    /// Where the stream stands: what came before is no part of the run, and nothing behind it is missed.
    private struct StreamPlace: Decodable, Sendable {
        var instance: String
        var latest: Int?
    }

    private struct Ended: Error {}

    private static func read(
        _ client: ControlClient, from place: StreamPlace,
        _ tell: @escaping @Sendable (Event) -> Void
    ) async {
        var beginning = MessageQuery()
        beginning.add(.instance, place.instance)
        beginning.add(.after, "\(place.latest ?? 0)")
        var stream = MessageStream(
            client: client, query: MessageQuery(), beginning: beginning, pause: { throw Ended() })
        do {
            _ = try await stream.run { events in
                var messages: [ScenarioMessage] = []
                for event in events {
                    switch event {
                    case .message(let object, _):
                        if let message = ScenarioMessage(object) { messages.append(message) }
                    case .missed(let count):
                        tell(.lost("\(count) messages were missed: relayd keeps a limited number"))
                    case .gone, .restarted: tell(.lost("relayd is gone"))
                    case .advice, .back: break
                    }
                }
                if !messages.isEmpty { tell(.messages(messages)) }
                return !Task.isCancelled
            }
        } catch {
            tell(.lost(error is Ended ? "relayd is gone" : SafeText.line("\(error)")))
        }
    }
}
