import RelayCore
import ServiceLifecycle

/// The relay as a service: keeps the link open, serves apps and feeds the observers until shutdown,
/// and stops them in order.
struct RelayService: Service {
    let relay: Relay
    let server: AppServer
    let link: SupervisorRunner
    let observer: any FrameObserver
    /// Where it looks at frames.
    let observers: LoopExecutor
    /// Nil in tests.
    var recorder: Recorder?

    func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await link.run() }
            async let observed: Void = observe()
            // Throws only when cancelled, which asks for the same.
            try? await gracefulShutdown()
            await server.stop()
            // Sessions end politely, then the tap; the observers see all of it.
            await relay.shutDown()
            await observed
            await recorder?.finish()
            group.cancelAll()
        }
    }

    private func observe() async {
        await withTaskExecutorPreference(observers) {
            var patience: Duration?
            while let items = await relay.tapQueue.nextBatch(within: patience) {
                patience = await observer.observe(items)
            }
        }
    }
}
