// The memory that the hub keeps alive, measured by the storage that its buffers share and not by its own counts.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("A limit on bytes bounds the memory they occupy")
struct PinnedMemoryTests {
    /// The storage of all buffers, each counted once: slices of one storage lie within its capacity.
    private struct Storage {
        private var slices: [(address: UInt, capacity: Int)] = []

        mutating func add(_ buffer: ByteBuffer) {
            let address = buffer.withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) }
            slices.append((address, buffer.storageCapacity))
        }

        var bytes: Int {
            var (bytes, end): (Int, UInt) = (0, 0)
            for slice in slices.sorted(by: { $0.address < $1.address }) where slice.address >= end {
                bytes += slice.capacity
                end = slice.address + UInt(slice.capacity)
            }
            return bytes
        }
    }

    /// A read of 256 KiB: the given frame among many others.
    private func read(_ frame: Frame, among others: Frame) -> ByteBuffer {
        var read = ByteBuffer()
        read.reserveCapacity(ReadBuffer.maximumBytes)
        read.writeImmutableBuffer(frame.wire)
        while read.writableBytes >= others.wire.readableBytes {
            read.writeImmutableBuffer(others.wire)
        }
        return read
    }

    @Test("small frames of large reads that wait for a slow app", arguments: [200, 3000, 100_000])
    func slowApp(frameBytes: Int) throws {
        let hub = try EmbeddedHub()
        let slow = try hub.app(session: 1)
        _ = try hub.app(session: 2)
        let socket = FullSocket()
        try slow.pipeline.syncOperations.addHandler(socket, position: .first)
        let frame = Frame.data(session: 1, bytes: frameBytes)
        let other = Frame.data(session: 2, bytes: 8000)
        // The socket took nothing of the first read.
        try hub.link.writeInbound(read(frame, among: other))
        for _ in 0..<60 { try hub.link.writeInbound(read(frame, among: other)) }
        socket.isFull = false
        slow.flush()
        var buffers: [ByteBuffer] = []
        while let buffer = try slow.readOutbound(as: ByteBuffer.self) { buffers.append(buffer) }
        #expect(buffers.count == 61)
        var storage = Storage()
        for buffer in buffers { storage.add(buffer) }
        let counted = buffers.reduce(0) { $0 + $1.readableBytes }
        // The read in which it fell behind, and the next power of two of each frame.
        let most = ByteBuffer.mostStoragePerByte * counted + ReadBuffer.maximumBytes
        #expect(storage.bytes <= most, "\(storage.bytes) B of storage for \(counted) B")
    }

    @Test("small frames of large reads that wait for a busy link")
    func busyLink() throws {
        let hub = try EmbeddedHub {
            $0.linkQueueBytes = 1 << 30
            $0.framesPerSecond = 0
        }
        let app = try hub.app(session: 1)
        hub.link.isWritable = false
        for message in 1...200 as ClosedRange<UInt32> {
            // Frames of other sessions are dropped.
            try app.writeInbound(
                read(
                    Frame.data(session: 1, message: message, bytes: 100),
                    among: Frame.data(session: 9, bytes: 8000)))
        }
        let counted = hub.switchboard.sdl.output.waitingBytes
        #expect(counted == 200 * 112)
        var storage = Storage()
        for frame in hub.switchboard.sdl.output.allWaiting { storage.add(frame.wire) }
        #expect(
            storage.bytes <= ByteBuffer.mostStoragePerByte * counted,
            "\(storage.bytes) B of storage for \(counted) B")
    }

    @Test("StartServices of large reads that wait for the head unit")
    func waitingStarts() throws {
        let hub = try EmbeddedHub { $0.framesPerSecond = 0 }
        let app = try hub.app(session: 1)
        for _ in 0..<8 {
            try app.writeInbound(read(.startService(), among: .data(session: 9, bytes: 8000)))
        }
        var storage = Storage()
        for frame in hub.switchboard.sdl.router.starts.waitingFrames { storage.add(frame.wire) }
        let counted = 7 * Frame.startService().wire.readableBytes
        #expect(hub.switchboard.sdl.router.starts.waitingFrames.count == 7)
        #expect(storage.bytes <= ByteBuffer.mostStoragePerByte * counted)
    }

    @Test("frames of large reads that wait for the observers", arguments: [200, 3000, 100_000])
    func observers(frameBytes: Int) async throws {
        let queue = TapQueue(maximumBytes: 4 << 20)
        let tap = FrameTap(queue: queue, loop: EmbeddedEventLoop())
        let frame = Frame.data(session: 1, bytes: frameBytes)
        let video = Frame.data(session: 1, service: .video, bytes: 8000)
        var sent = 0
        while queue.missedBatches == 0, sent < 100_000 {
            var read = read(frame, among: video)
            let slice = read.readSlice(length: frame.wire.readableBytes)
            let wire = try #require(slice)
            tap.record(Frame(checked: wire), .fromApp, app: nil, time: WallTime(nanoseconds: 1))
            tap.endRead()
            if sent % 7 == 0 { tap.emit() }
            sent += 1
        }
        #expect(sent > 10)
        queue.finish()
        var storage = Storage()
        var count = 0
        while let items = await queue.nextBatch() {
            for case .frames(let frames) in items {
                for tapped in frames {
                    storage.add(tapped.frame.wire)
                    count += 1
                }
            }
        }
        #expect(count > 10)
        #expect(storage.bytes <= queue.maximumBytes, "\(storage.bytes) B of storage")
    }

    @Test("what a sink is told first of sessions that run counts as what it occupies")
    func opening() throws {
        let time = WallTime(nanoseconds: 1)
        let tap = FrameTap(queue: TapQueue(maximumBytes: 1 << 20), loop: EmbeddedEventLoop())
        let app = AppID(rawValue: 1)
        tap.record(.appConnected(app, peer: "", time: time))
        for session in 1...20 as ClosedRange<UInt8> {
            tap.record(
                .rpc(
                    session: session, .request, .registerAppInterface,
                    json: String(repeating: " ", count: 50_000)), .fromApp, app: app, time: time)
        }
        tap.emit()
        let queue = TapQueue(maximumBytes: 4 << 20)
        tap.attach(
            queue,
            TapPolicy(
                payload: .everything, delay: .milliseconds(10), streamDelay: .milliseconds(10)),
            news: [])
        let counted = queue.occupiedBytes
        var storage = Storage()
        var count = 0
        for case .frames(let frames) in queue.takeAll() {
            #expect(frames.storageBytes > 20 * 50_000, "the flight recorder counts this")
            for tapped in frames {
                storage.add(tapped.frame.wire)
                count += 1
            }
        }
        #expect(count == 20)
        #expect(storage.bytes <= counted, "\(storage.bytes) B of storage counted as \(counted) B")
    }

    @Test("what the hub noticed, again and again, while nobody reads the tap")
    func notices() async {
        let queue = TapQueue(maximumBytes: 100_000)
        let tap = FrameTap(queue: queue, loop: EmbeddedEventLoop())
        let garbage = RelayNotice.garbage(
            GarbageNotice(
                offset: 0, error: .compressed, recognised: nil,
                excerpt: String(repeating: "5A ", count: 80)))
        for _ in 0..<100_000 { tap.record(.noticed(garbage, nil, time: WallTime(nanoseconds: 1))) }
        #expect(queue.occupiedBytes <= queue.maximumBytes)
        #expect(queue.missedBatches > 99_000, "and what was left out is counted")
        let items = queue.takeAll()
        #expect(items.count * 240 <= queue.maximumBytes, "\(items.count) events")
    }

    @Test("apps that come and go while nobody reads the tap leave nothing, others are told later")
    func lifeCycles() async {
        let queue = TapQueue(maximumBytes: 1000)
        let time = WallTime(nanoseconds: 1)
        let (known, stays) = (AppID(rawValue: 1), AppID(rawValue: 999_999))
        queue.push(.appConnected(known, peer: "known", time: time))
        while queue.missedBatches == 0 {
            queue.push(.noticed(.paced(framesPerSecond: 1), nil, time: time))
        }
        for number in 2...50_000 as ClosedRange<UInt64> {
            queue.push(.appConnected(AppID(rawValue: number), peer: "passing", time: time))
            queue.push(.linkClosed(reason: "\(number)", time: time))
            queue.push(.linkOpened(number: 1, address: "\(number)", time: time))
            queue.push(.appClosed(AppID(rawValue: number), reason: "passing", time: time))
        }
        queue.push(.appConnected(stays, peer: "stays", time: time))
        queue.push(.appClosed(known, reason: "gone", time: time))
        let told = queue.takeAll().map { "\($0)" }
        #expect(told.count < 10, "\(told)")
        let order = ["peer: \"known\"", "gone", "reason: \"50000\"", "address: \"50000\"", "stays"]
        #expect(
            order.map { word in told.firstIndex { $0.contains(word) } ?? -1 }.sorted()
                == order.compactMap { word in told.firstIndex { $0.contains(word) } })
    }
}

/// A socket that takes nothing while it is full.
private final class FullSocket: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    var isFull = true

    func flush(context: ChannelHandlerContext) {
        if !isFull { context.flush() }
    }
}
