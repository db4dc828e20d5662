import Glibc
import Logging
import NIOCore
import ServiceLifecycle
import UnixSignals

/// The time between start and stop: services run until a signal ends them, cleanly or at once.
enum ServiceRun {
    /// Runs the services until one of them fails or a signal stops them.
    ///
    /// - Parameters:
    ///   - stopTime: how long they may take to stop; asked when they are told to stop.
    ///   - lastLines: writes the last lines of the log.
    ///   - endAtOnce: writes the last lines and ends the process.
    static func run(
        _ services: ServiceGroup, until signals: UnixSignalsSequence, hangUp: HangUp,
        stopTime: StopTime, reload: @escaping @Sendable () -> Void,
        lastLines: @escaping @Sendable () async -> Void,
        endAtOnce: @escaping @Sendable (UnixSignal) async -> Void, logger: Logger
    ) async throws {
        let (stops, stop) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await services.run() }
            group.addTask {
                var asked = StopSignals()
                for await signal in signals {
                    let isHangUp = signal == .sighup
                    if isHangUp, hangUp.verdict() == .reload {
                        reload()
                        continue
                    }
                    switch asked.verdict(isHangUp: isHangUp, at: .now) {
                    case .stop:
                        await services.triggerGracefulShutdown()
                        stop.yield()
                    case .endAtOnce:
                        logger.warning(
                            "a second \(signal): relayd stops at once, and sessions may stay open on the head unit"
                        )
                        await endAtOnce(signal)
                    case .ignore: break
                    }
                }
            }
            group.addTask {
                for await _ in stops { break }
                guard !Task.isCancelled else { return }
                let time = stopTime.untilCutShort
                // Not `Task.sleep`: it would start the system's thread pool (see `LoopExecutor`).
                let timer = LoopExecutor.shared.loop.scheduleTask(in: TimeAmount(time)) {}
                try await withTaskCancellationHandler {
                    try await timer.futureResult.get()
                    logger.error(
                        "the stop takes longer than \(Quantity.text(time)): it is cut short")
                    endAnyway(after: lastLines)
                } onCancel: {
                    timer.cancel()
                }
            }
            // Waits for the first to end: the services, unless stopping them hangs.
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Ends the process in a moment, even if a service does not end when cancelled: a call that hangs
    /// in a driver cannot be cancelled. Lines logged by then are written first.
    private static func endAnyway(after lastLines: @escaping @Sendable () async -> Void) {
        let grace = LoopExecutor.shared.loop.scheduleTask(in: TimeAmount(StopTime.grace)) {}
        Task(executorPreference: LoopExecutor.shared) {
            await lastLines()
            try? await grace.futureResult.get()
            _exit(EXIT_FAILURE)
        }
    }
}
