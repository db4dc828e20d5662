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
    let relay: Relay
    let flight: FlightControl
    private let accessory: @Sendable () -> String
    private let events: EventRing
    let logger: Logger
    /// A loop of its own, created for the first recording: writing blocks.
    private let executor = Mutex<LoopExecutor?>(nil)
    private let timers: any EventLoop = MultiThreadedEventLoopGroup.singleton.any()
    /// How long a start or a reload of relayd waits for a recording of `record.always` to begin, so that no traffic
    /// is missed. If the disk takes longer, relayd continues without it.
    private let beginPatience: Duration
    /// How long shutdown waits for files of the flight recorder, and for a recording that has no file.
    private let savePatience: Duration
    private let state: Mutex<RecorderState>

    package init(
        _ policy: RecordingPolicy, relay: Relay, events: EventRing, logger: Logger,
        beginPatience: Duration = DiskWatch.limit, savePatience: Duration = StopTime.saving,
        accessory: @escaping @Sendable () -> String
    ) {
        state = Mutex(RecorderState(policy: policy))
        flight = FlightControl(relay, events: events, logger: logger)
        self.relay = relay
        self.events = events
        self.logger = logger
        (self.beginPatience, self.savePatience) = (beginPatience, savePatience)
        self.accessory = accessory
    }

    /// The policy of the next recording. A running one keeps its own.
    var policy: RecordingPolicy { state.withLock { $0.policy } }

    // MARK: Configuration

    /// Applies the configuration: at the start, and after each reload. A running recording continues as it
    /// began, except that one of `record.always` ends when that is switched off.
    package func apply(_ policy: RecordingPolicy, isAlways: Bool) async {
        let (wasAlways, ended) = state.withLock { state -> (Bool, Recording?) in
            let wasAlways = state.isAlways
            (state.policy, state.isAlways) = (policy, isAlways)
            // The new configuration may have fixed the problem.
            let isWaiting = state.problem != nil
            state.giveUp()
            let goesOn = wasAlways && !isWaiting
            state.compareBeginning()
            // A recording that is about to begin checks this itself once it has begun.
            guard !isAlways, state.isAutomatic, let recording = state.begun else {
                return (goesOn, nil)
            }
            state.isAutomatic = false
            return (goesOn, recording)
        }
        await flight.apply(policy)
        if isAlways, !wasAlways, let begun = startAlways() { await wait(for: begun) }
        if let ended { await end(ended, because: Self.turnedOff) }
    }

    private static let turnedOff = "record.always is false"

    private func wait(for begun: EventLoopFuture<Void>) async {
        guard await !begun.isOver(within: beginPatience), let problem else { return }
        logger.warning("record.always: \(problem); relayd goes on without the recording")
    }

    /// Its last frames are written in the background, so that a reload need not wait for the disk.
    private func end(_ recording: Recording, because reason: String) async {
        recording.willEnd(because: reason)
        try? await relay.detach(recording.queue)
    }

    // MARK: Asking

    /// While a recording runs, this shows its own policy, even if the configuration has changed
    /// since.
    package var report: RecordReport {
        let (recording, latest, wanted) = state.withLock { ($0.begun, $0.latest, $0.policy) }
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

    /// Why `record.always` is not recording at the moment.
    package var problem: String? {
        state.withLock { state in
            guard state.problem == nil, state.isAlways, state.isAutomatic,
                let since = state.beginning?.since
            else { return state.problem }
            let time = since.duration(to: .now)
            guard time >= beginPatience, let folder = state.recording?.policy.folder else {
                return nil
            }
            return "the disk of \(folder) has accepted no data for \(time.components.seconds) s"
        }
    }

    /// The current stall of the disk.
    package var diskStall: DiskStall? { state.withLock { $0.recording }?.disk.stall }

    private static func describe(_ recording: Recording) -> RecordReport.Recording {
        let progress = recording.progress
        return RecordReport.Recording(
            name: progress.name, file: progress.path, startedAt: recording.startedAt,
            files: progress.files, frames: progress.frames, bytes: progress.bytes,
            missedFrames: progress.missedFrames)
    }

    // MARK: Starting

    /// Returns when the recording has its file and sees the traffic.
    ///
    /// - Parameter label: Part of the recording's name, besides its time.
    /// - Throws: `APIError` if there is one already, or no place for it.
    package func start(_ label: String?) async throws -> RecordReport {
        switch claim(try newRecording(label), isAutomatic: false) {
        case .over: throw APIError(.conflict, "nothing is recorded any more: relayd stops")
        case .taken(by: let earlier, isBeginning: true):
            throw APIError(
                .conflict,
                "a recording is just beginning: it waits for the disk of "
                    + "\(earlier.policy.folder ?? "")")
        case .taken(by: let earlier, isBeginning: false):
            throw APIError(
                .conflict,
                "a recording is already running, since \(earlier.startedAt), into "
                    + "\(earlier.progress.path); stop it first")
        case .begins(let begun): try await begun.get()
        }
        return report
    }

    private func newRecording(_ label: String?) throws(APIError) -> Recording {
        let policy = policy
        guard let path = policy.folder else {
            throw APIError(
                .conflict,
                "there is no directory for recordings: set record.directory in relayd.yaml to an "
                    + "absolute path that relayd's user may write to")
        }
        let now = Timestamp.now
        return Recording(
            RecordingFolder.name(started: "\(now)", label: label), policy,
            in: RecordingFolder(path), header(policy, startedAt: now), startedAt: now)
    }

    private enum Claim {
        /// Succeeds when it has begun; fails with an `APIError`.
        case begins(EventLoopFuture<Void>)
        case taken(by: Recording, isBeginning: Bool)
        /// relayd stops.
        case over
    }

    /// Starts the recording on the loop that may wait for the disk, if none is running.
    private func claim(_ recording: Recording, isAutomatic: Bool) -> Claim {
        let loop = loop()
        return state.withLock { state in
            guard !state.isOver else { return .over }
            if let earlier = state.recording {
                // Somebody started it, or it is ending because a reload has turned it off.
                if isAutomatic, !state.isAutomatic { state.isAlwaysDue = true }
                return .taken(by: earlier, isBeginning: state.beginning != nil)
            }
            let begun = timers.makePromise(of: Void.self)
            state.recording = recording
            state.beginning = RecorderState.Beginning(begun: begun.futureResult)
            state.isAutomatic = isAutomatic
            state.task = Task(executorPreference: loop) { await self.run(recording, begun) }
            return .begins(begun.futureResult)
        }
    }

    /// The life of a recording: everything that may wait for the disk.
    private func run(_ recording: Recording, _ begun: EventLoopPromise<Void>) async {
        let file: RecordingFolder.NewFile
        do {
            file = try await open(recording)
        } catch {
            let problem = "nothing is recorded: \(error)"
            let (wasAutomatic, isAlwaysDue) = state.withLock { $0.end() }
            if isAlwaysDue {
                startAlways()
            } else if wasAutomatic {
                alwaysFailed(problem, after: nil)
            }
            return begun.fail(APIError(.internal, problem))
        }
        let since = ContinuousClock.now
        let unwanted = state.withLock { state -> String? in
            var unwanted = state.beginning?.unwanted
            state.beginning = nil
            guard state.isAutomatic else { return unwanted }
            state.problem = nil
            // There may have been a reload meanwhile.
            if !state.isAlways { unwanted = Self.turnedOff }
            state.isAutomatic = unwanted == nil
            return unwanted
        }
        events.add(.control, "recording into \(recording.progress.path)")
        logger.notice("recording into \(recording.progress.path)")
        if let unwanted {
            begun.fail(APIError(.conflict, "the recording ended as soon as it began: \(unwanted)"))
            await end(recording, because: unwanted)
        } else {
            begun.succeed()
        }
        var failure: RecordingFailure?
        var run = recording.run(into: file)
        // Not the loop that writes, which may hang.
        recording.disk.start(on: timers) { self.tell($0, $1) }
        do throws(RecordingFailure) {
            try await run.run()
        } catch {
            failure = error
        }
        recording.disk.stop()
        await ended(recording, failure, after: since.duration(to: .now))
    }

    /// - Returns: The recording's file, once the recording sees the traffic.
    private func open(_ recording: Recording) async throws -> RecordingFolder.NewFile {
        let file = try recording.openFreely()
        do {
            try await relay.attach(recording.queue, recording.policy.tapPolicy)
        } catch {
            close(file.descriptor)
            throw error
        }
        return file
    }

    /// The header of a trace.
    func header(_ policy: RecordingPolicy, startedAt time: Timestamp) -> TraceHeader {
        var header = TraceHeader(
            program: "relayd \(Version.current)", accessory: accessory(), started: "\(time)")
        header.streams = policy.streams
        header.masked = policy.masked
        return header
    }

    /// Starts a recording for `record.always`. relayd runs without it if there is no place for it; log
    /// and status say so.
    ///
    /// If another recording is running, this one follows it.
    ///
    /// - Returns: A future that succeeds when it has begun; nil if no recording was started.
    @discardableResult
    private func startAlways() -> EventLoopFuture<Void>? {
        do throws(APIError) {
            guard case .begins(let begun) = claim(try newRecording(nil), isAutomatic: true) else {
                return nil
            }
            return begun
        } catch {
            alwaysFailed(Self.words(error), after: nil)
            return nil
        }
    }

    private func alwaysFailed(_ problem: String, after lasted: Duration?) {
        let isNews = state.withLock { state -> Bool in
            guard state.isAlways, !state.isOver else { return false }
            defer { state.problem = problem }
            let pause = state.patience.failed(after: lasted)
            state.retry?.cancel()
            state.retry = timers.scheduleTask(in: TimeAmount(pause)) { self.tryAgain() }
            return state.problem != problem
        }
        if isNews { logger.error("record.always: \(problem); relayd tries again by itself") }
    }

    /// Called when the pause after a failure is over.
    func tryAgain() {
        let isWanted = state.withLock { state -> Bool in
            state.retry = nil
            // Somebody has started one manually.
            if state.recording != nil { state.giveUp() }
            return state.isAlways && !state.isOver
        }
        if isWanted { startAlways() }
    }

    /// The error's message for the log, without its type and structure.
    static func words(_ error: any Error) -> String {
        (error as? APIError)?.error.message ?? "\(error)"
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

    /// Puts a mark into the current recording, at its place between the frames.
    ///
    /// - Throws: `APIError` if nothing is being recorded.
    package func mark(_ text: String) async throws -> ActionReport {
        guard isListening else { throw Self.nothingToMark }
        guard try await relay.note(.mark(text)) else { throw Self.nothingToMark }
        events.add(.control, "mark in the recording: \(text)")
        return ActionReport(summary: "marked: \(text)")
    }

    private static let nothingToMark = APIError(
        .conflict,
        "nothing is being recorded, so nothing can be marked; 'relayctl record start' begins a recording"
    )

    /// Adds advice to the current recording, too.
    func add(_ advice: Advice) {
        consider(advice)
        guard isListening else { return }
        relay.noteSoon(
            .advice(
                code: advice.code.rawValue, text: "\(advice.sentence) → \(advice.remedy)",
                app: advice.app))
    }

    private var isListening: Bool {
        flight.isOn || state.withLock { $0.begun?.isEnding == false || $0.watchers > 0 }
    }

    func watch(_ change: Int) { state.withLock { $0.watchers += change } }

    // MARK: Ending

    /// Ends the recording, and waits until its last frame is written. A recording that is about to begin ends once
    /// it has begun, and nobody waits for its disk.
    ///
    /// - Throws: `APIError` if there is none.
    package func stop() async throws -> RecordReport {
        let (recording, isBeginning, task) = state.withLock {
            ($0.recording, $0.stopBeginning(), $0.task)
        }
        guard let recording else {
            throw APIError(.conflict, "nothing is being recorded")
        }
        // Its queue cannot be detached before it has been attached.
        guard !isBeginning else {
            var report = report
            // This is about another recording.
            report.latest = nil
            return report
        }
        recording.willEnd(because: "stopped")
        try await relay.detach(recording.queue)
        await task?.value
        return report
    }

    /// Called at shutdown, before the tap ends and the recording with it: no other may follow.
    package func willFinish() {
        state.withLock {
            $0.isOver = true
            $0.giveUp()
        }
    }

    /// Called at shutdown, when the tap has ended and with it the recording, even one that is just beginning. Waits
    /// for its last frame, and for the files that the flight recorder writes or was about to write.
    package func finish() async {
        willFinish()
        let deadline = ContinuousClock.now + savePatience
        await finishSaving()
        let (beginning, task) = state.withLock { ($0.beginning, $0.task) }
        guard await hasBegun(beginning, by: deadline) else {
            return logger.error(
                """
                relayd stops without the recording that was beginning: the disk has not taken its file \
                within \(Quantity.text(savePatience))
                """)
        }
        await task?.value
    }

    /// A recording without a file has nothing to lose, and its disk may hang.
    private func hasBegun(
        _ beginning: RecorderState.Beginning?, by deadline: ContinuousClock.Instant
    ) async -> Bool {
        guard let begun = beginning?.begun else { return true }
        let time = ContinuousClock.now.duration(to: deadline)
        return await begun.isOver(within: max(.zero, time))
    }

    /// A disk that hangs must not keep relayd from stopping.
    private func finishSaving() async {
        let saved = timers.makePromise(of: Void.self)
        Task(executorPreference: LoopExecutor(timers)) {
            await self.saveAtLast()
            saved.succeed()
        }
        guard await !saved.futureResult.isOver(within: savePatience) else { return }
        logger.error(
            """
            relayd stops without a whole file of the flight recorder: the disk has not taken it \
            within \(Quantity.text(savePatience))
            """)
    }

    private func ended(
        _ recording: Recording, _ failure: RecordingFailure?, after lasted: Duration
    ) async {
        // The tap must no longer wait for a recording that failed.
        try? await relay.detach(recording.queue)
        let described = Self.describe(recording)
        let (wasAutomatic, isAlwaysDue) = state.withLock { state in
            state.latest = RecordReport.Finished(
                described, at: .now, problem: failure?.description)
            return state.end()
        }
        let missed = described.missedFrames > 0 ? ", \(described.missedFrames) frames missed" : ""
        let words = "\(described.frames) frames\(missed)"
        if let failure {
            // The part of the last piece that fitted is not counted.
            let rest = failure.isLoss ? "" : "; recorded until then: at least \(words)"
            events.add(.control, "the recording ended early: \(failure)")
            logger.error("the recording ended early: \(failure)\(rest)")
            if wasAutomatic { alwaysFailed("\(failure)", after: lasted) }
        } else {
            events.add(.control, "recorded \(described.file): \(words)")
            logger.notice("recorded \(described.file): \(words)")
        }
        if isAlwaysDue { startAlways() }
    }
}
