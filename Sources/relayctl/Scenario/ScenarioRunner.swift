import ControlAPI
import Glibc
import NIOCore
import Scenarios

/// Runs one scenario against a running relayd: `ScenarioConductor` runs the steps, and this type passes
/// it the messages. Used by `relayctl run`.
struct ScenarioRunner: Sendable {
    let client: ControlClient
    let scenario: Scenario
    /// The file's name in reports.
    let file: String
    /// Values of variables given by the user.
    var values: [String: AnyJSON] = [:]
    var mayHarmOthers = false
    /// The trace to write meanwhile; nil for none.
    var recording: String?
    /// Called when the scenario begins to see messages, and after each step.
    var progress: ScenarioConductor.Progress?

    /// Runs the scenario to its end, and removes what it has added.
    ///
    /// - Parameter interruption: Reports that the user wants it to end early.
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
        let started = Timestamp.now
        let conductor = ScenarioConductor(
            scenario, values: values, on: ControlSocketBench(client),
            mayHarmOthers: mayHarmOthers, timers: client.eventLoopGroup.next(), progress: progress)
        let reader = Task {
            // Ends with this run.
            await Self.read(client, from: place, for: conductor)
        }
        interruption.tell { conductor.stop("interrupted") }
        var result = await conductor.run(file: file)
        interruption.tell(nil)
        reader.cancel()
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

    // MARK: Messages

    /// Position in the stream: earlier messages are not part of the run, and no later one is missed.
    private struct StreamPlace: Decodable, Sendable {
        var instance: String
        var latest: Int?
    }

    private struct Ended: Error {}

    private static func read(
        _ client: ControlClient, from place: StreamPlace, for conductor: ScenarioConductor
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
                        conductor.stop(
                            "\(count) messages were missed: relayd keeps a limited number")
                    case .gone, .restarted: conductor.stop("relayd is gone")
                    case .advice, .back: break
                    }
                }
                if !messages.isEmpty { conductor.tell(messages) }
                return !Task.isCancelled
            }
        } catch {
            conductor.stop(error is Ended ? "relayd is gone" : SafeText.line("\(error)"))
        }
    }
}
