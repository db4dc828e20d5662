import ControlAPI
import Glibc
import Logging
import NIOCore
import NIOPosix
import RelayCore
import SDLTraffic
import Synchronization
import Traces

/// Starts and stops the flight recorder as `record` says, and writes its files: when asked by the control
/// API, and automatically when an event of `record.save_on` has happened. Part of `Recorder`.
final class FlightControl: Sendable {
    private struct State {
        var flight: FlightRecorder?
        var streams = TraceStreams.all
        var schedule = SaveSchedule()
        /// While a file is being written: completes when that is done.
        var saving: EventLoopFuture<Void>?
        /// Saved files, the newest first.
        var saved: [RecordReport.Saved] = []
        /// Files that were written because of `record.save_on`, the oldest first.
        var ownFiles: [String] = []

        /// Call only while no file is being written.
        mutating func takeTurn(
            _ reason: String, _ triggers: [SaveTrigger], on loop: any EventLoop
        ) -> Turn {
            let over = loop.makePromise(of: Void.self)
            saving = over.futureResult
            return Turn(reason: reason, triggers: triggers, over: over)
        }
    }

    /// The right to write a file; there is one at a time.
    private struct Turn {
        /// Why it is written, in words.
        let reason: String
        /// Empty if somebody asked for the file.
        let triggers: [SaveTrigger]
        let over: EventLoopPromise<Void>
    }

    /// What is needed to write a file.
    struct Writing {
        let policy: RecordingPolicy
        let header: TraceHeader
        /// Where to write: writing blocks.
        let executor: LoopExecutor
    }

    private let relay: Relay
    private let events: EventRing
    private let logger: Logger
    private let state = Mutex(State())
    /// A loop of its own, created for the first flight recorder.
    private let loop = Mutex<LoopExecutor?>(nil)
    private let timers: any EventLoop = MultiThreadedEventLoopGroup.singleton.any()

    /// Number of files listed in the report.
    private static let maximumSaved = 8

    init(_ relay: Relay, events: EventRing, logger: Logger) {
        self.relay = relay
        self.events = events
        self.logger = logger
    }

    var isOn: Bool { state.withLock { $0.flight != nil } }

    /// Nil while it is off.
    func report(_ policy: RecordingPolicy) -> RecordReport.Flight? {
        let (flight, saved) = state.withLock { ($0.flight, $0.saved) }
        return flight?.report(policy.saveOn, saved)
    }

    // MARK: On and off

    /// Starts it, ends it, or restarts it with another size; otherwise leaves it alone.
    func apply(_ policy: RecordingPolicy) async {
        let (earlier, streams) = state.withLock { ($0.flight, $0.streams) }
        guard policy.lastBytes != earlier?.maximumBytes ?? 0 || policy.streams != streams else {
            return
        }
        if let earlier {
            state.withLock { $0.flight = nil }
            try? await relay.detach(earlier.queue)
        }
        guard policy.lastBytes > 0 else { return }
        let executor = executor()
        let flight = FlightRecorder(maximumBytes: policy.lastBytes, on: executor.loop)
        do {
            try await relay.attach(flight.queue, policy.livePolicy)
        } catch {
            return logger.error("the flight recorder is not running: \(error)")
        }
        // The task ends with its queue: when the recorder is switched off, or with the tap.
        Task(executorPreference: executor) { await flight.run() }
        state.withLock {
            $0.flight = flight
            $0.streams = policy.streams
        }
        let size = Quantity.text(bytes: policy.lastBytes)
        logger.info(
            "the latest \(size) of traffic are kept in memory; relayctl record save writes them into a file"
        )
    }

    private func executor() -> LoopExecutor {
        loop.withLock { executor in
            if let executor { return executor }
            let loop = LastingLoop.start()
            loop.execute { ThreadScheduling.lowPriority(as: "flight") }
            let made = LoopExecutor(loop)
            executor = made
            return made
        }
    }

    // MARK: By itself

    /// Called when an event of `record.save_on` has happened: a file is written soon.
    ///
    /// - Parameter save: Writes it.
    func trigger(
        _ cause: SaveSchedule.Cause, save: @escaping @Sendable () async -> Void
    ) {
        let now = ContinuousClock.now
        let due = state.withLock { state in
            state.flight == nil ? nil : state.schedule.trigger(cause, at: now)
        }
        if let due { after(now.duration(to: due), save) }
    }

    /// Writes a file about the events that have happened, if any.
    ///
    /// - Returns: If another file is being written, which lacks what has happened since: the end of that.
    func saveByItself(_ writing: () -> Writing) async -> EventLoopFuture<Void>? {
        let (turn, earlier) = state.withLock { state -> (Turn?, EventLoopFuture<Void>?) in
            if let saving = state.saving { return (nil, saving) }
            let (causes, others) = state.schedule.take(at: .now)
            guard !causes.isEmpty else { return (nil, nil) }
            var words = causes.map(\.words).joined(separator: "; ")
            if others > 0 { words += "; and \(others) more" }
            return (state.takeTurn(words, causes.map(\.trigger), on: timers), nil)
        }
        guard let turn else { return earlier }
        do {
            _ = try await save(turn.triggers.first?.rawValue, turn, writing())
        } catch {
            logger.error("\(turn.reason), and no file of it: \(Recorder.words(error))")
        }
        return nil
    }

    func after(_ time: Duration, _ save: @escaping @Sendable () async -> Void) {
        timers.scheduleTask(in: TimeAmount(time)) {
            _ = Task(executorPreference: LoopExecutor(self.timers)) { await save() }
        }
    }

    // MARK: Saving

    /// Writes the kept traffic to a new file, because somebody asked for it.
    ///
    /// - Parameter label: Part of its name, besides its time.
    /// - Throws: `APIError`.
    func save(_ label: String?, _ writing: Writing) async throws -> RecordReport.Saved {
        let turn = state.withLock { state in
            state.saving == nil ? state.takeTurn("somebody asked for it", [], on: timers) : nil
        }
        guard let turn else {
            throw APIError(.conflict, "a file is being saved at this moment; try again")
        }
        return try await save(label, turn, writing)
    }

    private func save(
        _ label: String?, _ turn: Turn, _ writing: Writing
    ) async throws -> RecordReport.Saved {
        defer {
            state.withLock { $0.saving = nil }
            turn.over.succeed()
        }
        guard let flight = state.withLock({ $0.flight }) else {
            throw APIError(
                .conflict,
                "the flight recorder is off: set record.last in relayd.yaml to the amount of memory to "
                    + "use, such as 64 MiB, then: relayctl reload")
        }
        guard let path = writing.policy.folder else {
            throw APIError(
                .conflict,
                "there is no directory for recordings: set record.directory in relayd.yaml to an "
                    + "absolute path that relayd's user may write to")
        }
        // Include all traffic up to now.
        try await relay.handOver()
        try await flight.settle()
        let contents = flight.contents()
        let saved = try await withTaskExecutorPreference(writing.executor) {
            do throws(RecordingFailure) {
                let saved = try await Self.write(
                    contents, into: RecordingFolder(path), label, writing.header, turn)
                for path in remember(saved, turn, writing.policy) { unlink(path) }
                return saved
            } catch {
                throw APIError(.internal, "nothing is saved: \(error)")
            }
        }
        let words =
            "saved \(saved.file): \(saved.frames) frames since \(saved.beganAt) (\(turn.reason))"
        events.add(.control, words)
        logger.notice("\(words)")
        return saved
    }

    /// - Returns: The files to remove to make room for it.
    private func remember(
        _ saved: RecordReport.Saved, _ turn: Turn, _ policy: RecordingPolicy
    ) -> [String] {
        state.withLock { state in
            state.saved.insert(saved, at: 0)
            if state.saved.count > Self.maximumSaved { state.saved.removeLast() }
            guard !turn.triggers.isEmpty else { return [] }
            state.ownFiles.append(saved.file)
            guard policy.files > 0, state.ownFiles.count > policy.files else { return [] }
            let count = state.ownFiles.count - policy.files
            defer { state.ownFiles.removeFirst(count) }
            return Array(state.ownFiles.prefix(count))
        }
    }

    private static func write(
        _ contents: FlightRing.Contents, into folder: RecordingFolder, _ label: String?,
        _ header: TraceHeader, _ turn: Turn
    ) async throws(RecordingFailure) -> RecordReport.Saved {
        try folder.make()
        let now = Timestamp.now
        let name = folder.freeName(started: "\(now)", label: label)
        let file = try folder.create(name + RecordingFolder.suffix)
        var writing = FlightFile(file, header)
        let began = Timestamp(contents.began)
        let sum = try await writing.write(
            contents, started: "\(began)", because: "saved: \(turn.reason)")
        return RecordReport.Saved(
            file: file.path, savedAt: now, beganAt: began, frames: sum.frames, bytes: sum.bytes,
            missedFrames: sum.missedFrames, reason: turn.reason,
            triggers: turn.triggers.map(\.rawValue))
    }
}
