import Logging
import NIOCore
import NIOPosix
import RelayCore
import ServiceLifecycle

/// The relay as a service: keeps the link open, serves apps and feeds the observers until shutdown,
/// and stops them in order.
struct RelayService: Service {
    let relay: Relay
    let server: AppServer
    let link: SupervisorRunner
    let observer: any FrameObserver
    /// The executor the observer runs on.
    let observers: LoopExecutor
    /// Longest wait for the observers once everything else has stopped.
    var observing = StopTime.observing
    let logger: Logger
    /// Nil in tests.
    var recorder: Recorder?
    var media: MediaTaps?
    /// Nil with a head unit.
    var vehicle: VehicleHandlers.Source?

    func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await link.run() }
            let (observed, end) = AsyncStream.makeStream(of: Bool.self)
            // Not in the group, which would wait for it; and not a bare task, which would start in the
            // system's thread pool (see `LoopExecutor`).
            Task(executorPreference: observers) {
                await observe()
                end.yield(true)
            }
            if let vehicle {
                group.addTask {
                    await withTaskExecutorPreference(observers) {
                        await vehicle.traffic.run(on: vehicle.tap)
                    }
                }
            }
            // Throws only when cancelled, which means the same.
            try? await gracefulShutdown()
            await server.stop()
            // No new recording may follow the one that ends with the tap.
            recorder?.willFinish()
            // Sessions end cleanly, then the tap; the observers see as much of this as they can in
            // time.
            await relay.shutDown()
            vehicle?.tap.finish()
            await wait(for: observed, end)
            await recorder?.finish()
            await media?.finish()
            group.cancelAll()
        }
    }

    /// Waits until the observers have seen everything, at most for `observing`.
    private func wait(
        for observed: AsyncStream<Bool>, _ end: AsyncStream<Bool>.Continuation
    ) async {
        // Not `Task.sleep`: it would start the system's thread pool (see `LoopExecutor`).
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        let timer = loop.scheduleTask(in: TimeAmount(observing)) {
            _ = end.yield(false)
        }
        defer { timer.cancel() }
        for await isComplete in observed {
            guard !isComplete else { return }
            let frames = relay.tapQueue.abandon()
            logger.warning(
                """
                the log ends early: this machine is too busy to decode what was still queued, \
                \(frames) frame\(frames == 1 ? "" : "s") or more
                """)
            return
        }
    }

    private func observe() async {
        var patience: Duration?
        while let items = await relay.tapQueue.nextBatch(within: patience) {
            patience = await observer.observe(items)
        }
    }
}
