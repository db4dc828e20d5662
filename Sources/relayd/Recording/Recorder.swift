package import ControlAPI
import Glibc
package import Logging
import NIOCore
import NIOPosix
package import RelayCore
import SDLProtocol
import SDLTraffic
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
        /// Who looks on at this moment (`live`).
        var watchers = 0
        /// What the configuration says.
        var policy: RecordingPolicy
        var isAlways = false
        /// The recording runs because `record.always` said so, and began then.
        var automaticSince: ContinuousClock.Instant?
        var patience = AlwaysPatience()
        /// Why `record.always` records nothing, until it does again.
        var problem: String?
        /// Tries it again after a while.
        var retry: Scheduled<Void>?
        /// relayd stops.
        var isOver = false

        /// Nothing is tried again.
        mutating func giveUp() {
            retry?.cancel()
            (retry, problem, patience) = (nil, nil, AlwaysPatience())
        }
    }

    let relay: Relay
    let flight: FlightControl
    private let accessory: @Sendable () -> String
    private let events: EventRing
    let logger: Logger
    /// A loop of its own, from the first recording on: writing blocks.
    private let executor = Mutex<LoopExecutor?>(nil)
    private let state: Mutex<State>

    package init(
        _ policy: RecordingPolicy, relay: Relay, events: EventRing, logger: Logger,
        accessory: @escaping @Sendable () -> String
    ) {
        state = Mutex(State(policy: policy))
        flight = FlightControl(relay, events: events, logger: logger)
        self.relay = relay
        self.events = events
        self.logger = logger
        self.accessory = accessory
    }

    /// What the next recording gets. One that runs keeps what it has.
    var policy: RecordingPolicy { state.withLock { $0.policy } }

    // MARK: Configuration

    /// Does what the configuration says: at the start, and after each reload. A recording that runs goes on
    /// as it began, but for one of `record.always`, which ends when that is no longer so.
    package func apply(_ policy: RecordingPolicy, isAlways: Bool) async {
        let (wasAlways, ended) = state.withLock { state -> (Bool, Recording?) in
            let wasAlways = state.isAlways
            (state.policy, state.isAlways) = (policy, isAlways)
            // What the configuration says now may be better.
            let isWaiting = state.problem != nil
            state.giveUp()
            let isAutomatic = state.automaticSince != nil
            return (wasAlways && !isWaiting, isAutomatic && !isAlways ? state.recording : nil)
        }
        await flight.apply(policy)
        if isAlways, !wasAlways, running == nil { await startAlways() }
        if let ended { await endAlways(ended) }
    }

    /// Its last frames are written beside the reload, which need not wait for the disk.
    private func endAlways(_ recording: Recording) async {
        recording.willEnd(because: "record.always is false")
        try? await relay.detach(recording.queue)
    }

    // MARK: Asking

    /// While a recording runs, this is what it applies, whatever the configuration has said since.
    package var report: RecordReport {
        let (recording, latest, wanted) = state.withLock { ($0.recording, $0.latest, $0.policy) }
        let policy = recording?.policy ?? wanted
        var report = RecordReport(
            directory: policy.folder, recording: recording.map(Self.describe), latest: latest,
            streams: policy.streams.rawValue, masked: policy.masked,
            whenBehind: policy.whenBehind.rawValue)
        report.diskStall = recording?.disk.stall
        report.problem = problem
        report.flight = flight.report(wanted)
        return report
    }

    /// Why `record.always` records nothing at this moment.
    package var problem: String? { state.withLock { $0.problem } }

    /// The disk takes nothing at this moment.
    package var diskStall: DiskStall? { state.withLock { $0.recording }?.disk.stall }

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
        let policy = policy
        guard let path = policy.folder else {
            throw APIError(
                .conflict,
                "there is no directory for recordings: set record.directory in relayd.yaml to an "
                    + "absolute path that relayd's user may write to")
        }
        let folder = RecordingFolder(path)
        let now = Timestamp.now
        let recording = Recording(
            folder.freeName(started: "\(now)", label: label), policy, in: folder,
            header(policy, startedAt: now), startedAt: now)
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
    func header(_ policy: RecordingPolicy, startedAt time: Timestamp) -> TraceHeader {
        var header = TraceHeader(
            program: "relayd \(Version.current)", accessory: accessory(), started: "\(time)")
        header.streams = policy.streams
        header.masked = policy.masked
        return header
    }

    /// For `record.always`. relayd runs without it when there is no place for it; log and status say so.
    private func startAlways() async {
        do {
            _ = try await start(nil)
            let (problem, unwanted) = state.withLock { state -> (String?, Recording?) in
                // It may have ended already.
                guard let recording = state.recording else { return (state.latest?.problem, nil) }
                (state.automaticSince, state.problem) = (.now, nil)
                // A reload may have come meanwhile.
                return (nil, state.isAlways ? nil : recording)
            }
            if let problem { alwaysFailed(problem, after: nil) }
            if let unwanted { await endAlways(unwanted) }
        } catch {
            alwaysFailed(Self.words(error), after: nil)
        }
    }

    private func alwaysFailed(_ problem: String, after lasted: Duration?) {
        let isNews = state.withLock { state -> Bool in
            guard state.isAlways, !state.isOver else { return false }
            defer { state.problem = problem }
            let pause = state.patience.failed(after: lasted)
            state.retry?.cancel()
            // Not `Task.sleep`: it would start the system's thread pool (see `LoopExecutor`).
            state.retry = LoopExecutor.shared.loop.scheduleTask(in: TimeAmount(pause)) {
                _ = Task(executorPreference: LoopExecutor.shared) { await self.tryAgain() }
            }
            return state.problem != problem
        }
        if isNews { logger.error("record.always: \(problem); relayd tries again by itself") }
    }

    private func tryAgain() async {
        let isWanted = state.withLock { state -> Bool in
            state.retry = nil
            // Somebody has begun one by hand.
            if state.recording != nil { state.giveUp() }
            return state.isAlways && !state.isOver && state.recording == nil
        }
        if isWanted { await startAlways() }
    }

    /// For the log, where nobody wants to see how an error is made.
    static func words(_ error: any Error) -> String {
        (error as? APIError)?.error.message ?? "\(error)"
    }

    private func claim(_ recording: Recording) throws(APIError) {
        let earlier = state.withLock { state -> Recording? in
            if let earlier = state.recording { return earlier }
            (state.recording, state.task) = (recording, nil)
            return nil
        }
        guard let earlier else { return }
        throw APIError(
            .conflict,
            "a recording is already running, since \(earlier.startedAt), into \(earlier.progress.path); "
                + "stop it first")
    }

    private func launch(_ recording: Recording, _ file: RecordingFolder.NewFile) {
        let task = Task(executorPreference: loop()) {
            var failure: RecordingFailure?
            var run = recording.run(into: file)
            // Not the loop that writes: that one may hang.
            recording.disk.start(on: MultiThreadedEventLoopGroup.singleton.any()) {
                self.tell($0, $1)
            }
            do throws(RecordingFailure) {
                try await run.run()
            } catch {
                failure = error
            }
            recording.disk.stop()
            await self.ended(recording, failure)
        }
        // It may have ended already.
        state.withLock { if $0.recording === recording { $0.task = task } }
    }

    func loop() -> LoopExecutor {
        executor.withLock { executor in
            if let executor { return executor }
            let loop = LastingLoop.start()
            loop.execute { ThreadScheduling.normalPriority(as: "recorder") }
            let made = LoopExecutor(loop)
            executor = made
            return made
        }
    }

    private func tell(_ news: DiskPatience.News, _ words: String) {
        events.add(.notice, words)
        if case .takesNothing = news {
            logger.warning("\(words)")
        } else {
            logger.notice("\(words)")
        }
    }

    // MARK: Notes

    /// Puts a mark into what is being recorded, at its place between the frames.
    ///
    /// - Throws: `APIError` when nothing is.
    package func mark(_ text: String) async throws -> ActionReport {
        guard isListening else {
            throw APIError(
                .conflict,
                "nothing is being recorded, so nothing can be marked; "
                    + "'relayctl record start' begins a recording")
        }
        try await relay.note(.mark(text))
        events.add(.control, "mark in the recording: \(text)")
        return ActionReport(summary: "marked: \(text)")
    }

    /// Advice that has been given stands in what is being recorded, too.
    func add(_ advice: Advice) {
        consider(advice)
        guard isListening else { return }
        relay.noteSoon(
            .advice(
                code: advice.code.rawValue, text: "\(advice.sentence) → \(advice.remedy)",
                app: advice.app))
    }

    private var isListening: Bool {
        flight.isOn || state.withLock { $0.recording != nil || $0.watchers > 0 }
    }

    func watch(_ change: Int) { state.withLock { $0.watchers += change } }

    // MARK: Ending

    /// Ends the recording, and waits until its last frame is written.
    ///
    /// - Throws: `APIError` when there is none.
    package func stop() async throws -> RecordReport {
        guard let (recording, task) = running else {
            throw APIError(.conflict, "nothing is being recorded")
        }
        // Its queue cannot be detached before it is attached.
        guard let task else {
            throw APIError(.conflict, "the recording is just beginning; try again")
        }
        recording.willEnd(because: "stopped")
        try await relay.detach(recording.queue)
        await task.value
        return report
    }

    private var running: (Recording, Task<Void, Never>?)? {
        state.withLock { state in state.recording.map { ($0, state.task) } }
    }

    /// relayd stops: the tap has ended, and with it the recording. Waits for its last frame, and writes the
    /// file that the flight recorder was about to write.
    package func finish() async {
        state.withLock {
            $0.isOver = true
            $0.giveUp()
        }
        await saveByItself()
        await running?.1?.value
    }

    private func ended(_ recording: Recording, _ failure: RecordingFailure?) async {
        // Of a recording that failed the tap must not wait any more.
        try? await relay.detach(recording.queue)
        let described = Self.describe(recording)
        let automaticSince = state.withLock { state in
            defer {
                (state.recording, state.task, state.automaticSince) = (nil, nil, nil)
                state.latest = RecordReport.Finished(
                    described, at: .now, problem: failure?.description)
            }
            return state.automaticSince
        }
        let missed = described.missedFrames > 0 ? ", \(described.missedFrames) frames missed" : ""
        let words = "\(described.frames) frames\(missed)"
        if let failure {
            // What fitted of the last piece is not among them.
            let rest = failure.isLoss ? "" : "; recorded until then: at least \(words)"
            events.add(.control, "the recording ended early: \(failure)")
            logger.error("the recording ended early: \(failure)\(rest)")
            if let automaticSince {
                alwaysFailed("\(failure)", after: automaticSince.duration(to: .now))
            }
        } else {
            events.add(.control, "recorded \(described.file): \(words)")
            logger.notice("recorded \(described.file): \(words)")
        }
    }
}
