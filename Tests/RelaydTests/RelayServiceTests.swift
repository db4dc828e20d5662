// Decoding has a thread of its own: neither the link nor a status waits for it.

import AccessoryLinks
import Dispatch
import Logging
import NIOCore
import NIOPosix
import RelayCore
import RelayTesting
import ServiceLifecycle
import Synchronization
import Testing

@testable import relayd

@Suite("The relay as a service")
struct RelayServiceTests {
    @Test("a device is plugged in again and the status tells of it while a batch is being decoded")
    func decodingIsBeside() async throws {
        let terminal = try PseudoTerminal()
        let observer = BusyObserver()
        let (relay, group) = try await service(terminal, observer)
        async let running: Void = group.run()

        // It decodes the first link until the end of this test.
        try await until(relay) { $0.link.openedCount == 1 }
        await observer.hasBegun()
        terminal.unplug()
        try await until(relay) { !$0.link.isUp }
        try terminal.replug()
        try await until(relay) { $0.link.openedCount == 2 }
        #expect(!observer.hasFinished)

        observer.finish.signal()
        await group.triggerGracefulShutdown()
        try await running
    }

    @Test(
        "decoding that has no processor time does not keep a relayd from stopping, and it is said")
    func stopsBesideDecoding() async throws {
        let terminal = try PseudoTerminal()
        let observer = BusyObserver()
        defer { observer.finish.signal() }
        let log = LoggedLines()
        let (relay, group) = try await service(terminal, observer, log: log)
        async let running: Void = group.run()
        try await until(relay) { $0.link.openedCount == 1 }
        await observer.hasBegun()

        await group.triggerGracefulShutdown()
        try await running

        #expect(!observer.hasFinished)
        #expect(log.records.contains { $0.message.hasPrefix("the log ends early") })
    }

    private func service(
        _ terminal: PseudoTerminal, _ observer: BusyObserver, log: LoggedLines = LoggedLines()
    ) async throws -> (Relay, ServiceGroup) {
        let logger = Logger(label: "test") { _ in log }
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let relay = try await Relay.start(
            on: loop, configuration: RelayConfiguration(),
            accessoryAddress: "serial:\(terminal.path)", logger: logger)
        let address = try AccessoryAddress("serial:\(terminal.path)")
        let service = RelayService(
            relay: relay, server: AppServer([], relay: relay) { _ in },
            link: SupervisorRunner(
                LinkSupervisor(
                    transport: try SerialTransport(address), address: address, loop: loop,
                    logger: logger,
                    configure: { relay.configureLink($0) },
                    onStateChange: { _ in })),
            observer: observer, observers: LoopExecutor(LastingLoop.start()),
            observing: .milliseconds(10), logger: logger)
        return (relay, ServiceGroup(services: [service], logger: logger))
    }

    private func until(_ relay: Relay, _ condition: (RelaySnapshot) -> Bool) async throws {
        let deadline = NIODeadline.now() + FramePeer.patience
        while NIODeadline.now() < deadline {
            if condition(try await relay.snapshot()) { return }
            await Task.yield()
        }
        throw FramePeer.Failure.nothingCame
    }
}

/// Occupies its thread with its first batch until it is told to finish.
private final class BusyObserver: FrameObserver {
    let finish = DispatchSemaphore(value: 0)
    private let begun: AsyncStream<Void>
    private let begin: AsyncStream<Void>.Continuation
    private let finished = Atomic(false)

    init() {
        (begun, begin) = AsyncStream.makeStream()
    }

    var hasFinished: Bool { finished.load(ordering: .acquiring) }

    func hasBegun() async {
        for await _ in begun { return }
    }

    func observe(_ items: [TapItem]) async -> Duration? {
        guard !finished.load(ordering: .acquiring) else { return nil }
        begin.yield()
        work()
        return nil
    }

    private func work() {
        finish.wait()
        finished.store(true, ordering: .releasing)
    }
}
