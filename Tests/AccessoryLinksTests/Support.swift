import Logging
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import AccessoryLinks

// What the tests of this target share: deadlines, a recorder of states, a channel end that
// collects bytes, a log that can be read.

/// Far more than anything needs, for machines that run builds at the same time.
let patience: Duration = .seconds(600)

struct DeadlinePassed: Error, CustomStringConvertible {
    let description: String
}

/// Returns the result of the operation, or throws after the deadline.
func withDeadline<Result: Sendable>(
    _ what: String, _ operation: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await withThrowingTaskGroup(of: Result.self) { group in
        group.addTask { try await operation() }
        group.addTask {
            // Ends a test that hangs; in a test that passes, this task has been cancelled by then.
            try await Task.sleep(for: patience)
            throw DeadlinePassed(description: "still waiting for \(what)")
        }
        defer { group.cancelAll() }
        guard let first = try await group.next() else { throw CancellationError() }
        return first
    }
}

/// A value that changes, and that tests can wait for.
final class Watched<Value: Sendable>: Sendable {
    private struct Waiter {
        let test: @Sendable (Value) -> Bool
        let stream: AsyncStream<Value>.Continuation
    }
    private struct Contents {
        var value: Value
        var waiters: [Waiter] = []
    }
    private let contents: Mutex<Contents>

    init(_ value: Value) { contents = Mutex(Contents(value: value)) }

    var value: Value { contents.withLock { $0.value } }

    func update(_ change: @Sendable (inout Value) -> Void) {
        contents.withLock { contents in
            change(&contents.value)
            let value = contents.value
            contents.waiters.removeAll { waiter in
                guard waiter.test(value) else { return false }
                waiter.stream.yield(value)
                waiter.stream.finish()
                return true
            }
        }
    }

    /// Returns the value as soon as the test holds.
    @discardableResult
    func wait(
        for what: String, _ test: @escaping @Sendable (Value) -> Bool
    ) async throws -> Value {
        let (stream, continuation) = AsyncStream<Value>.makeStream()
        contents.withLock { contents in
            if test(contents.value) {
                continuation.yield(contents.value)
                continuation.finish()
            } else {
                contents.waiters.append(Waiter(test: test, stream: continuation))
            }
        }
        return try await withDeadline(what) {
            for await value in stream { return value }
            throw CancellationError()
        }
    }
}

/// A stand-in for the hub at the end of a link: collects the bytes that arrive and counts events.
final class LinkProbe: Sendable {
    struct Seen: Sendable {
        var configured = 0
        var active = 0
        var inactive = 0
        var bytes: [UInt8] = []
        var channel: (any Channel)?
    }
    let seen = Watched(Seen())

    var setup: ChannelSetup {
        { [seen] channel in
            seen.update {
                $0.configured += 1
                $0.channel = channel
            }
            return channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(Handler(seen: seen))
            }
        }
    }

    func receive(_ count: Int) async throws -> [UInt8] {
        try await seen.wait(for: "\(count) bytes") { $0.bytes.count >= count }.bytes
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        let seen: Watched<Seen>
        init(seen: Watched<Seen>) { self.seen = seen }

        func channelActive(context: ChannelHandlerContext) {
            seen.update { $0.active += 1 }
        }
        func channelInactive(context: ChannelHandlerContext) {
            seen.update { $0.inactive += 1 }
        }
        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = Array(unwrapInboundIn(data).readableBytesView)
            seen.update { $0.bytes += bytes }
        }
    }
}

extension Channel {
    func send(_ bytes: [UInt8]) async throws {
        try await writeAndFlush(ByteBuffer(bytes: bytes))
    }
}

/// A supervisor under test, and everything it has reported.
final class SupervisedLink: Sendable {
    let probe = LinkProbe()
    let states = Watched<[ConnectionState]>([])
    let log = Watched<[String]>([])
    let supervisor: LinkSupervisor
    let transport: any AccessoryTransport

    convenience init(_ text: String) throws {
        let address = try AccessoryAddress(text)
        try self.init(TransportCatalog.transport(for: address), at: address)
    }

    init(_ transport: any AccessoryTransport, at address: AccessoryAddress) {
        let logger = Logger(label: "test") { [log] _ in CollectingLog(lines: log) }
        self.transport = transport
        supervisor = LinkSupervisor(
            transport: transport, address: address,
            loop: MultiThreadedEventLoopGroup.singleton.next(), logger: logger,
            configure: probe.setup,
            onStateChange: { [states] state in states.update { $0.append(state) } })
    }

    /// Runs the supervisor beside the body; afterwards cancels it and expects it to have closed.
    func run(_ body: (SupervisedLink) async throws -> Void) async throws {
        let task = Task { await supervisor.run() }
        do {
            try await body(self)
        } catch {
            task.cancel()
            await task.value
            throw error
        }
        task.cancel()
        try await withDeadline("the supervisor's end") { await task.value }
        #expect(states.value.last == .closed)
    }

    var timesOpen: Int { states.value.count { $0.isOpen } }

    func waitUntilOpen(times count: Int = 1) async throws {
        try await states.wait(for: "link open for the \(count). time") { states in
            states.count { $0.isOpen } >= count && states.last?.isOpen == true
        }
    }

    /// Waits until the device is missed, whether the end was noticed after the node went (vanished) or before
    /// (absent, after a try).
    func waitUntilGone() async throws {
        try await states.wait(for: "the device to be missed") { states in
            [.vanished, .absent].contains(states.last?.reason?.code)
        }
    }

    /// Returns the latest reason for waiting, once it has this code.
    @discardableResult
    func waitUntilWaiting(_ code: LinkProblem.Code) async throws -> LinkProblem {
        let states = try await states.wait(for: "waiting because \(code)") { states in
            states.last?.reason?.code == code
        }
        return try #require(states.last?.reason)
    }
}

extension ConnectionState {
    var isOpen: Bool {
        if case .open = self { true } else { false }
    }
    var reason: LinkProblem? {
        if case .waiting(let reason, _, _) = self { reason } else { nil }
    }
}

struct CollectingLog: LogHandler {
    let lines: Watched<[String]>
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .trace

    init(lines: Watched<[String]>) { self.lines = lines }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let line = "\(event.level): \(event.message)"
        lines.update { $0.append(line) }
    }
}
