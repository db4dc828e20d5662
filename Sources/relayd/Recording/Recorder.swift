package import ControlAPI
import Glibc
package import Logging
import NIOCore
package import RelayCore
import SDLProtocol
import Synchronization
import Traces

/// Starts and stops recordings: asked by the control API, and by `Daemon` for `record.always`. One
/// recording at a time.
package final class Recorder: Sendable {
    private struct State {
        var recording: Recording?
        var task: Task<Void, Never>?
        /// How the latest one ended.
        var latest: RecordReport.Finished?
        var isEnding = false
    }

    let relay: Relay
    let policy: RecordingPolicy
    private let accessory: @Sendable () -> String
    private let events: EventRing
    private let logger: Logger
    /// A loop of its own, from the first recording on: writing blocks.
    private let executor = Mutex<LoopExecutor?>(nil)
    private let state = Mutex(State())

    package init(
        _ policy: RecordingPolicy, relay: Relay, events: EventRing, logger: Logger,
        accessory: @escaping @Sendable () -> String
    ) {
        self.policy = policy
        self.relay = relay
        self.events = events
        self.logger = logger
        self.accessory = accessory
    }

    // MARK: Asking

    package var report: RecordReport {
        let (recording, latest) = state.withLock { ($0.recording, $0.latest) }
        return RecordReport(
            directory: policy.folder, recording: recording.map(Self.describe), latest: latest,
            streams: policy.streams.rawValue, masked: policy.masked,
            whenBehind: policy.whenBehind.rawValue)
    }

    private static func describe(_ recording: Recording) -> RecordReport.Recording {
        let progress = recording.progress
        return RecordReport.Recording(
            name: recording.name, file: progress.path, startedAt: recording.startedAt,
            files: progress.files, frames: progress.frames, bytes: progress.bytes,
            missedFrames: progress.missedFrames)
    }

    // MARK: Starting

    /// - Parameter label: What the recording is to be called, beside its time.
    /// - Throws: `APIError` when there is one already, or no place for it.
    package func start(_ label: String?) async throws -> RecordReport {
        guard let path = policy.folder else {
            throw APIError(
                .conflict,
                "there is no directory for recordings: set record.directory in relayd.yaml to an "
                    + "absolute path that relayd's user may write to")
        }
        let folder = RecordingFolder(path)
        let now = Timestamp.now
        let recording = Recording(
            RecordingFolder.name(started: "\(now)", label: label), policy, in: folder,
            header(startedAt: now), startedAt: now)
        try claim(recording)
        do {
            try folder.make()
            let file = try recording.open()
            do {
                try await relay.attach(recording.queue, policy.tapPolicy)
            } catch {
                close(file.descriptor)
                throw error
            }
            launch(recording, file)
        } catch {
            state.withLock { $0.recording = nil }
            throw APIError(.internal, "nothing is recorded: \(error)")
        }
        events.add(.control, "recording into \(recording.progress.path)")
        logger.notice("recording into \(recording.progress.path)")
        return report
    }

    /// What a trace says of itself.
    func header(startedAt time: Timestamp) -> TraceHeader {
        var header = TraceHeader(
            program: "relayd \(Version.current)", accessory: accessory(), started: "\(time)")
        header.streams = policy.streams
        header.masked = policy.masked
        return header
    }

    /// For `record.always`. relayd runs without it when there is no place for it; its log says so.
    package func startAlways() async {
        do {
            _ = try await start(nil)
        } catch {
            logger.error("record.always: \(error)")
        }
    }

    private func claim(_ recording: Recording) throws(APIError) {
        let earlier = state.withLock { state -> Recording? in
            if let earlier = state.recording { return earlier }
            state.recording = recording
            return nil
        }
        guard let earlier else { return }
        throw APIError(
            .conflict,
            "a recording runs already, since \(earlier.startedAt), into \(earlier.progress.path); "
                + "stop it first")
    }

    private func launch(_ recording: Recording, _ file: RecordingFolder.NewFile) {
        let task = Task(executorPreference: loop()) {
            var problem: String?
            var run = recording.run(into: file)
            do throws(RecordingFailure) {
                try await run.run()
            } catch {
                problem = error.description
            }
            await self.ended(recording, problem)
        }
        state.withLock { $0.task = task }
    }

    private func loop() -> LoopExecutor {
        executor.withLock { executor in
            if let executor { return executor }
            let loop = LastingLoop.start()
            loop.execute { ThreadScheduling.normalPriority(as: "recorder") }
            let made = LoopExecutor(loop)
            executor = made
            return made
        }
    }

    // MARK: Ending

    /// Ends the recording, and waits until its last frame is written.
    ///
    /// - Throws: `APIError` when there is none.
    package func stop() async throws -> RecordReport {
        guard let (recording, task) = running else {
            throw APIError(.conflict, "nothing is being recorded")
        }
        recording.willEnd(because: "stopped")
        try await relay.detach(recording.queue)
        await task?.value
        return report
    }

    private var running: (Recording, Task<Void, Never>?)? {
        state.withLock { state in state.recording.map { ($0, state.task) } }
    }

    /// relayd stops: the tap has ended, and with it the recording. Waits for its last frame.
    package func finish() async {
        await running?.1?.value
    }

    private func ended(_ recording: Recording, _ problem: String?) async {
        // Of a recording that failed the tap must not wait any more.
        try? await relay.detach(recording.queue)
        let described = Self.describe(recording)
        state.withLock {
            $0.recording = nil
            $0.task = nil
            $0.latest = RecordReport.Finished(described, at: .now, problem: problem)
        }
        let missed = described.missedFrames > 0 ? ", \(described.missedFrames) frames missed" : ""
        let words = "\(described.file): \(described.frames) frames\(missed)"
        if let problem {
            events.add(.control, "the recording ended early: \(problem)")
            logger.error("the recording ended early: \(problem); recorded until then: \(words)")
        } else {
            events.add(.control, "recorded \(words)")
            logger.notice("recorded \(words)")
        }
    }
}
