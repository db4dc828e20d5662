import Glibc
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import AccessoryLinks

/// A tty returns at most 4 KB at a time, a socket as much as the channel's buffer holds. Either way, one read
/// must deliver everything that waits, so a socket pair stands in for the tty here.
@Suite("a tty is read on")
struct TTYReadOnTests {
    @Test("what waits in the driver arrives with one read")
    func readsOn() async throws {
        let line = try await Line()
        let bytes = Line.bytes(40_000)
        line.deviceSends(bytes)
        #expect(try await line.read() == [bytes])
    }

    @Test("a read that leaves nothing arrives as it came")
    func short() async throws {
        let line = try await Line()
        line.deviceSends([1, 2, 3])
        #expect(try await line.read() == [[1, 2, 3]])
        line.deviceSends([4])
        #expect(try await line.read() == [[4]])
    }

    @Test("one read brings no more than its limit, the next the rest")
    func isBounded() async throws {
        let line = try await Line()
        let bytes = Line.bytes(TTYLinkHandler.readLimit + 5000)
        line.deviceSends(bytes)
        var arrived = try await line.read()
        #expect(arrived.first?.count == TTYLinkHandler.readLimit)
        while arrived.joined().count < bytes.count { arrived += try await line.read() }
        #expect(Array(arrived.joined()) == bytes)
    }

    @Test("bytes that somebody keeps stay what they are while the next are read")
    func keepsWhatIsHeld() async throws {
        let line = try await Line()
        let (first, second) = (Line.bytes(10_000, from: 1), Line.bytes(10_000, from: 7))
        line.deviceSends(first)
        let held = try await line.readBuffers()
        line.deviceSends(second)
        #expect(try await line.read() == [second])
        #expect(held.map { Array($0.readableBytesView) } == [first])
    }

    @Test("the last bytes before a hang-up arrive, and then its reason")
    func lastBytes() async throws {
        let line = try await Line()
        let bytes = Line.bytes(40_000)
        line.deviceSends(bytes)
        line.deviceHangsUp()
        #expect(try await line.read() == [bytes])
        line.goOn()
        try await withDeadline("the end of the link") { try await line.channel.closeFuture.get() }
        #expect(line.problems == ["hung up"])
    }
}

/// A tty link without a hub that reads only on request.
private final class Line: Sendable {
    let channel: any Channel
    private let reads: Reads
    private let device: Mutex<CInt>

    init() async throws {
        var ends: (CInt, CInt) = (-1, -1)
        let made = withUnsafeMutableBytes(of: &ends) { bytes in
            socketpair(
                AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0,
                bytes.bindMemory(to: CInt.self).baseAddress)
        }
        try #require(made == 0)
        device = Mutex(ends.1)
        let near = OwnedDescriptor(ends.0)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let calls = DeviceCalls()
        let use = try await calls.begin("/dev/ttyRelaydTest", on: loop)
        let tty = TTY(try near.duplicate(), use, calls)
        let reads = Reads()
        self.reads = reads
        channel = try await DescriptorChannel.open(socket: near, on: loop) { channel in
            channel.closeFuture.whenComplete { _ in tty.end() }
            return channel.eventLoop.makeCompletedFuture {
                try channel.syncOptions?.setOption(.autoRead, value: false)
                try channel.pipeline.syncOperations.addHandlers(
                    TTYLinkHandler(tty: tty, hangUp: LinkProblem(.closedByPeer, "hung up")), reads)
            }
        }
    }

    deinit {
        channel.close(promise: nil)
        deviceHangsUp()
    }

    /// Bytes that differ, so that a wrong order shows.
    static func bytes(_ count: Int, from first: Int = 0) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: ($0 + first) % 251) }
    }

    /// Sends from the device; the socket's buffer takes all of it at once.
    func deviceSends(_ bytes: [UInt8]) {
        let sent = device.withLock { write($0, bytes, bytes.count) }
        #expect(sent == bytes.count)
    }

    func deviceHangsUp() {
        device.withLock { device in
            if device >= 0 { close(device) }
            device = -1
        }
    }

    /// From here on, reads without being asked.
    func goOn() {
        channel.setOption(.autoRead, value: true).whenComplete { _ in }
    }

    /// Asks for one read.
    ///
    /// - Returns: The pieces in which the data arrived.
    func readBuffers() async throws -> [ByteBuffer] {
        let done = reads.next(on: channel.eventLoop)
        channel.read()
        return try await withDeadline("a read") { try await done.get() }
    }

    func read() async throws -> [[UInt8]] {
        try await readBuffers().map { Array($0.readableBytesView) }
    }

    var problems: [String] { reads.problems }
}

/// Collects the data that arrives at the end of the pipeline.
private final class Reads: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private struct State {
        var pieces: [ByteBuffer] = []
        /// Data of a read that was not requested: a hang-up lets the channel read at once.
        var unasked: [ByteBuffer]?
        var done: EventLoopPromise<[ByteBuffer]>?
        var problems: [String] = []
    }

    private let state = Mutex(State())

    var problems: [String] { state.withLock { $0.problems } }

    /// Succeeds when the next requested read is complete.
    func next(on loop: any EventLoop) -> EventLoopFuture<[ByteBuffer]> {
        let promise = loop.makePromise(of: [ByteBuffer].self)
        let unasked = state.withLock { state in
            if state.unasked == nil { state.done = promise }
            return state.unasked.take()
        }
        if let unasked { promise.succeed(unasked) }
        return promise.futureResult
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        state.withLock { $0.pieces.append(bytes) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        let (done, pieces) = state.withLock { state in
            let pieces = state.pieces
            state.pieces = []
            if state.done == nil, !pieces.isEmpty { state.unasked = pieces }
            return (state.done.take(), pieces)
        }
        done?.succeed(pieces)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        state.withLock { $0.problems.append((error as? LinkProblem)?.message ?? "\(error)") }
    }
}
