// The hub in this process, between socketpairs: event loop and nothing else.

import CMallocCounter
import Foundation
import Logging
import NIOCore
import NIOPosix
import RelayCore
import SDLProtocol
import SDLTraffic
import Synchronization

/// A relay whose link and app are socketpairs, and the numbers of its event-loop thread.
enum HubBenchmark: Benchmark {
    static let name = "hub"
    static let summary = "the hub between socketpairs: cost per 1 KB frame on the event loop"

    private static let frameBytes = 1024

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "thread time and mallocs of the event loop alone; a second thread writes 64 frames at",
            "once and a third reads; decoding on runs the whole observer, off empties the tap",
        ])
        for decodes in [false, true] {
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            let hub = try await Hub(on: group.next(), decodes: decodes)
            for direction in StreamDirection.allCases {
                let subject = "1 KB \(direction.rawValue), decoding \(decodes ? "on" : "off")"
                let (nanoseconds, mallocs) = try hub.measure(direction, setting, frameBytes)
                findings.add(subject, "event loop", "ns/frame", nanoseconds, "ns")
                findings.add(subject, "event loop", "mallocs/frame", mallocs, "")
            }
            await hub.close()
            try await group.shutdownGracefully()
        }
        return findings
    }

    /// A relay with one registered app.
    private struct Hub {
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

        /// One end goes to the relay, the other comes back.
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

        func measure(
            _ direction: StreamDirection, _ setting: Setting, _ frameBytes: Int
        ) throws -> (nanoseconds: [Double], mallocs: [Double]) {
            let chunk = Traffic.wire(
                (1...64).map { number in
                    direction == .fromApp
                        ? Traffic.upload(
                            session: session, bytes: frameBytes, message: UInt32(number),
                            correlation: Int32(number))
                        : Traffic.download(
                            session: session, bytes: frameBytes, message: UInt32(number))
                })
            let chunks = setting.isQuick ? 100 : 1000
            _ = try move(chunk, chunks / 4, direction)
            var (nanoseconds, mallocs): ([Double], [Double]) = ([], [])
            for _ in 0..<setting.rounds {
                let used = try move(chunk, chunks, direction)
                nanoseconds.append(Double(used.nanoseconds) / Double(chunks * 64))
                mallocs.append(Double(used.mallocs) / Double(chunks * 64))
            }
            return (nanoseconds, mallocs)
        }

        private func move(
            _ chunk: [UInt8], _ count: Int, _ direction: StreamDirection
        ) throws -> (nanoseconds: Int, mallocs: Int) {
            let (source, sink) = direction == .fromApp ? (app, headUnit) : (headUnit, app)
            let before = try numbers()
            let writer = Thread {
                for _ in 0..<count {
                    // The reader notices what is missing.
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
            return (after.nanoseconds - before.nanoseconds, after.mallocs - before.mallocs)
        }

        private func numbers() throws -> (nanoseconds: Int, mallocs: Int) {
            let thread = try ProcessFacts(processID: getpid()).threads()[loopThread]
            return (
                thread?.processorNanoseconds ?? 0, MallocCounts.ownAllocations()[loopThread] ?? 0
            )
        }
    }
}
