// The hub in this process, between socketpairs: the event loop and nothing else.

import CMallocCounter
import Foundation
import Logging
import NIOCore
import NIOPosix
import RelayCore
import SDLProtocol
import SDLTraffic

/// A relay with one registered app.
struct HubInProcess {
    let relay: Relay
    let app: Socket
    let headUnit: Socket
    let session: UInt8
    let loopThread: Int
    let observing: Task<Void, Never>

    init(on loop: any EventLoop, decodes: Bool) async throws {
        var configuration = RelayConfiguration()
        configuration.framesPerSecond = 0
        configuration.farewellTimeout = .milliseconds(10)
        let relay = try await Relay.start(
            on: loop, configuration: configuration, accessoryAddress: "benchmark",
            logger: Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() })
        let log = TrafficLog { _ in }
        let observer = TrafficObserver(consumers: [log])
        observing = Task {
            while let items = await relay.tapQueue.nextBatch() {
                if decodes { await observer.observe(items) }
            }
        }
        self.relay = relay
        headUnit = try await Self.connect(loop) { relay.configureLink($0) }
        app = try await Self.connect(loop) { relay.configureApp($0) }
        session = try Registration.play(app: app, headUnit: headUnit)
        loopThread = try await loop.submit { Int(malloc_counter_thread()) }.get()
    }

    /// Gives one end to the relay and returns the other.
    private static func connect(
        _ loop: any EventLoop,
        _ configure: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
    ) async throws -> Socket {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else {
            throw BenchmarkError.system("socketpair")
        }
        _ = try await ClientBootstrap(group: loop).channelInitializer(configure)
            .withConnectedSocket(ends[0]).get()
        return try Socket(ends[1])
    }

    func close() async {
        await relay.shutDown()
        await observing.value
    }

    /// What the event loop's thread has used.
    struct Used {
        var nanoseconds = 0
        var mallocs = 0
    }

    /// Sends `chunk` `count` times, and waits until all of it has arrived and the loop is idle.
    func move(
        _ chunk: [UInt8], _ count: Int, _ direction: StreamDirection
    ) throws -> Used {
        let (source, sink) = direction == .fromApp ? (app, headUnit) : (headUnit, app)
        let before = try numbers()
        let writer = Thread {
            for _ in 0..<count {
                // The reader notices missing bytes.
                guard (try? source.write(chunk)) != nil else { return }
            }
        }
        writer.start()
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: 256 << 10, alignment: 64)
        defer { buffer.deallocate() }
        try sink.discard(chunk.count * count, buffer: buffer)
        usleep(20_000)
        let after = try numbers()
        return Used(
            nanoseconds: after.nanoseconds - before.nanoseconds,
            mallocs: after.mallocs - before.mallocs)
    }

    /// Sends `chunk` `count` times, each time when the one before has arrived.
    func moveInSteps(_ chunk: [UInt8], _ count: Int, _ direction: StreamDirection) throws {
        let (source, sink) = direction == .fromApp ? (app, headUnit) : (headUnit, app)
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: chunk.count, alignment: 64)
        defer { buffer.deallocate() }
        for _ in 0..<count {
            try source.write(chunk)
            try sink.readExactly(into: buffer)
        }
    }

    private func numbers() throws -> Used {
        let thread = try ProcessFacts(processID: getpid()).threads()[loopThread]
        return Used(
            nanoseconds: thread?.processorNanoseconds ?? 0,
            mallocs: MallocCounts.ownAllocations()[loopThread] ?? 0)
    }
}
