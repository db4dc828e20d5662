// What another program writes, line by line, for tests that wait for one of the lines.

import Glibc
package import NIOCore
import NIOPosix
import Synchronization

/// The lines read from a pipe or a datagram socket so far; tests can wait for one of them.
package final class OutputLines: Sendable {
    /// A line that a test waited for and that did not come; tells what came instead.
    package struct Missing: Error, CustomStringConvertible {
        package let description: String
    }

    private struct State {
        var lines: [String] = []
        var unfinished: [UInt8] = []
        var isAtEnd = false
        /// Each returns true when it has found what it waited for, or waits in vain.
        var waiters: [@Sendable (_ lines: [String], _ isAtEnd: Bool) -> Bool] = []
    }

    private let state = Mutex(State())

    private init() {}

    /// Reads a descriptor, which it owns from now on, until its end.
    ///
    /// - Parameters:
    ///   - readsByItself: false leaves everything unread, as a reader that hangs does.
    ///   - endsLineAfterRead: for datagrams, which end without a line feed.
    package static func read(
        _ descriptor: CInt, readsByItself: Bool = true, endsLineAfterRead: Bool = false
    ) async throws -> (lines: OutputLines, channel: any Channel) {
        let lines = OutputLines()
        do {
            let channel = try await NIOPipeBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .channelOption(.autoRead, value: readsByItself)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(
                            LineReader(lines: lines, endsLineAfterRead: endsLineAfterRead))
                    }
                }
                .takingOwnershipOfDescriptor(input: descriptor).get()
            return (lines, channel)
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// Everything so far.
    package var all: [String] { state.withLock { $0.lines } }

    /// The first line, earlier or later, that contains the text.
    @discardableResult
    package func first(containing text: String) async throws -> String {
        try await wait(for: "a line with \"\(text)\"") { lines in
            lines.first { $0.contains(text) }
        }
    }

    /// All lines, once there are at least `count`.
    @discardableResult
    package func atLeast(_ count: Int) async throws -> [String] {
        try await wait(for: "\(count) lines") { $0.count >= count ? $0 : nil }
    }

    /// Tries again after every read until `find` has a result.
    package func wait<Value: Sendable>(
        for what: String, _ find: @escaping @Sendable ([String]) -> Value?
    ) async throws -> Value {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let promise = loop.makePromise(of: Value.self)
        let timeout = loop.scheduleTask(in: FramePeer.patience) {
            promise.fail(self.missing(what, "in time"))
        }
        enlist { lines, isAtEnd in
            if let value = find(lines) {
                promise.succeed(value)
            } else if isAtEnd {
                promise.fail(Self.missing(what, "before the end", lines))
            } else {
                return false
            }
            timeout.cancel()
            return true
        }
        return try await promise.futureResult.get()
    }

    /// All lines, when the other side has closed.
    package func untilEnd() async throws -> [String] {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let promise = loop.makePromise(of: [String].self)
        let timeout = loop.scheduleTask(in: FramePeer.patience) {
            promise.fail(self.missing("the end", "in time"))
        }
        enlist { lines, isAtEnd in
            guard isAtEnd else { return false }
            promise.succeed(lines)
            timeout.cancel()
            return true
        }
        return try await promise.futureResult.get()
    }

    private func enlist(
        _ waiter: @escaping @Sendable (_ lines: [String], _ isAtEnd: Bool) -> Bool
    ) {
        state.withLock { state in
            if !waiter(state.lines, state.isAtEnd) { state.waiters.append(waiter) }
        }
    }

    private func missing(_ what: String, _ when: String) -> Missing {
        Self.missing(what, when, all)
    }

    private static func missing(_ what: String, _ when: String, _ lines: [String]) -> Missing {
        // Enough to see what happened instead.
        let said = lines.suffix(40).joined(separator: "\n  ")
        return Missing(description: "\(what) did not come \(when); what came:\n  \(said)")
    }

    fileprivate func append(_ bytes: ByteBufferView) {
        state.withLock { state in
            for byte in bytes {
                if byte == UInt8(ascii: "\n") {
                    state.lines.append(String(decoding: state.unfinished, as: UTF8.self))
                    state.unfinished.removeAll(keepingCapacity: true)
                } else {
                    state.unfinished.append(byte)
                }
            }
            Self.askWaiters(&state)
        }
    }

    fileprivate func end() {
        state.withLock { state in
            if !state.unfinished.isEmpty {
                state.lines.append(String(decoding: state.unfinished, as: UTF8.self))
                state.unfinished = []
            }
            state.isAtEnd = true
            Self.askWaiters(&state)
        }
    }

    private static func askWaiters(_ state: inout State) {
        let (lines, isAtEnd) = (state.lines, state.isAtEnd)
        state.waiters.removeAll { $0(lines, isAtEnd) }
    }
}

/// Feeds what is read to the lines.
private final class LineReader: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let lines: OutputLines
    private let endsLineAfterRead: Bool

    init(lines: OutputLines, endsLineAfterRead: Bool) {
        self.lines = lines
        self.endsLineAfterRead = endsLineAfterRead
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if endsLineAfterRead { bytes.writeInteger(UInt8(ascii: "\n")) }
        lines.append(bytes.readableBytesView)
    }

    func channelInactive(context: ChannelHandlerContext) {
        lines.end()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
