// The relay and the observers as services: what runs, and how it stops.

import AccessoryLinks
import RelayCore
import ServiceLifecycle

/// Keeps the link open and serves apps until shutdown; then ends sessions politely.
struct RelayService: Service {
    let relay: Relay
    let listener: AppListener
    let supervisor: LinkSupervisor

    func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await supervisor.run() }
            // Throws only when cancelled, which asks for the same.
            try? await gracefulShutdown()
            await listener.close()
            await relay.shutDown()
            group.cancelAll()
        }
    }
}

/// Feeds an observer with what passes the tap, until the relay has ended it.
struct ObserverService: Service {
    let queue: TapQueue
    let observer: any FrameObserver

    func run() async throws {
        while let items = await queue.nextBatch() {
            await observer.observe(items)
        }
    }
}
