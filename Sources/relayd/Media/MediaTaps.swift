package import ControlAPI
package import Logging
package import NIOCore
import NIOPosix
package import RelayCore
import Synchronization

/// Extracts pictures, sound and files from passing traffic, as `media` of the configuration says: to a
/// folder, and for players on a port of this machine. A sink of the tap that never makes anybody wait.
package final class MediaTaps: Sendable {
    /// Shared by the writing and the reporting side.
    typealias Progress = Shared<MediaProgress>

    /// The running parts.
    private struct Life {
        var queue: TapQueue
        var port: VideoPort?
        var progress: Progress
        /// Succeeds when everything received is written.
        var end: EventLoopFuture<Void>
    }

    private struct State {
        var policy = MediaPolicy()
        var life: Life?
        /// Why the port is not available.
        var problem: String?
    }

    private let relay: Relay
    private let players: any EventLoop
    private let logger: Logger
    private let state = Mutex(State())
    /// A loop of its own, created on first use: writing blocks.
    private let executor = Mutex<LoopExecutor?>(nil)

    /// Bytes taken from the queue at once.
    private static let bytesAtOnce = 1 << 20
    /// How long stopping waits for the disk.
    private static let patience = TimeAmount.seconds(2)
    static let noFolder = MediaFailure(
        "there is no directory for media: set media.directory in relayd.yaml to an absolute path that "
            + "relayd's user may write to")

    /// - Parameter players: The loop of the players' sockets.
    package init(relay: Relay, players: any EventLoop, logger: Logger) {
        self.relay = relay
        self.players = players
        self.logger = logger
    }

    // MARK: On and off

    /// Applies the configuration: at the start, and after each reload. If anything in it has changed, the
    /// current run ends, and its files with it.
    package func apply(_ policy: MediaPolicy) async {
        let (isSame, earlier) = state.withLock { state in
            (state.policy == policy && (state.life != nil) == policy.isOn, state.life)
        }
        guard !isSame else { return }
        if let earlier { await end(earlier) }
        state.withLock { state in
            state = State()
            state.policy = policy
        }
        guard policy.isOn else { return }
        await start(policy)
    }

    private func start(_ policy: MediaPolicy) async {
        let queue = TapQueue(maximumBytes: policy.queueBytes)
        var port: VideoPort?
        var problem: String?
        if policy.videoPort > 0 {
            let opening = VideoPort(on: players)
            do throws(MediaFailure) {
                try await opening.open(policy.videoPort)
                port = opening
            } catch {
                problem = error.description
                logger.error("\(error)")
            }
        }
        do {
            try await relay.attach(
                queue,
                TapPolicy(
                    payload: policy.wantsStreams ? .everything : .exceptStreams,
                    delay: .milliseconds(20), streamDelay: .milliseconds(20), overflow: .miss))
        } catch {
            port?.close()
            let words = "no media are taken: \(error)"
            state.withLock { $0.problem = words }
            return logger.error("\(words)")
        }
        let progress = Progress(MediaProgress())
        let loop = loop()
        let end = players.makePromise(of: Void.self)
        let logger = logger
        let chosen = port
        Task(executorPreference: loop) {
            var run = MediaRun(policy, chosen, progress: progress, logger: logger)
            while let items = await queue.nextBatch(atMost: Self.bytesAtOnce) {
                run.receive(items)
            }
            run.finish()
            end.succeed()
        }
        state.withLock {
            $0.life = Life(queue: queue, port: chosen, progress: progress, end: end.futureResult)
            $0.problem = problem
        }
        announce(policy, chosen)
    }

    private func announce(_ policy: MediaPolicy, _ port: VideoPort?) {
        if !policy.saved.isEmpty {
            let kinds = policy.saved.map(\.rawValue).sorted().joined(separator: ", ")
            logger.notice("writing \(kinds) from apps to \(policy.folder ?? "no directory")")
        }
        if let address = port?.address {
            logger.notice("players get video from apps here: ffplay -f h264 tcp://\(address)")
        }
    }

    private func loop() -> LoopExecutor {
        executor.withLock { executor in
            if let executor { return executor }
            let loop = LastingLoop.start()
            loop.execute { ThreadScheduling.lowPriority(as: "media") }
            let made = LoopExecutor(loop)
            executor = made
            return made
        }
    }

    private func end(_ life: Life) async {
        try? await relay.detach(life.queue)
        await wait(for: life)
        life.port?.close()
    }

    /// Waits until everything is written, unless the disk hangs.
    private func wait(for life: Life) async {
        let alarm = players.makePromise(of: Void.self)
        let timer = players.scheduleTask(in: Self.patience) {
            alarm.succeed()
        }
        life.end.whenComplete { _ in
            timer.cancel()
            alarm.succeed()
        }
        try? await alarm.futureResult.get()
    }

    /// Called at shutdown, when the tap has ended. Waits for the last files.
    package func finish() async {
        guard let life = state.withLock({ $0.life.take() }) else { return }
        await wait(for: life)
        life.port?.close()
    }

    // MARK: Asking

    /// Nil while nothing is extracted.
    package var report: MediaStatus? {
        let state = state.withLock { $0 }
        guard state.policy.isOn else { return nil }
        let progress = state.life?.progress.withLock { $0 } ?? MediaProgress()
        var problem = state.problem ?? progress.problem
        if problem == nil, !state.policy.saved.isEmpty, state.policy.folder == nil {
            problem = Self.noFolder.description
        }
        return MediaStatus(
            directory: state.policy.saved.isEmpty ? nil : state.policy.folder,
            save: state.policy.saved.map(\.rawValue).sorted(), files: progress.files,
            openFiles: progress.open, bytes: progress.bytes, missedFrames: progress.missedFrames,
            videoAddress: state.life?.port?.address, players: state.life?.port?.playerCount ?? 0,
            problem: problem)
    }
}

/// A value shared by two threads.
final class Shared<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    init(_ value: Value) { self.value = Mutex(value) }

    func withLock<Result: Sendable>(_ act: (inout sending Value) -> sending Result) -> Result {
        value.withLock(act)
    }
}
