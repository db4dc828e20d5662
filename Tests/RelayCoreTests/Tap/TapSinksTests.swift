import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("Several may look at the traffic, each as it wants")
struct TapSinksTests {
    private let loop = EmbeddedEventLoop()
    private let time = WallTime(nanoseconds: 1)
    private let app = AppID(rawValue: 1)

    private func recorder(_ payload: TapPayload) -> TapPolicy {
        TapPolicy(payload: payload, delay: .milliseconds(10), streamDelay: .milliseconds(10))
    }

    private func frames(_ items: [TapItem]) -> [Frame] {
        items.flatMap { item -> [Frame] in
            if case .frames(let frames) = item { frames.map(\.frame) } else { [] }
        }
    }

    private func frames(_ queue: TapQueue) -> [Frame] { frames(queue.takeAll()) }

    private func missed(_ items: [TapItem]) -> [Int] {
        items.compactMap { item in
            if case .missed(let frames, _) = item { frames } else { nil }
        }
    }

    /// Records what a read brings.
    private func pass(_ frames: some Sequence<Frame>, _ tap: FrameTap) {
        for frame in frames { tap.record(frame, .fromApp, app: app, time: time) }
        tap.endRead()
    }

    @Test("a StartService that the next link gets as well is seen there too")
    func saidAgain() throws {
        let hub = try EmbeddedHub { $0.whenLinkLost = .keep }
        let app = try hub.app()
        try app.says(.startService())
        #expect(try hub.heard() == [.startService()])
        try hub.link.close().wait()
        let queue = TapQueue(maximumBytes: 1 << 20)
        hub.switchboard.attach(queue, recorder(.everything))
        let next = try hub.nextLink()
        #expect(try next.hears() == .startService())
        try next.says(.startServiceACK(session: 1))
        hub.switchboard.tap.emit()
        let seen = queue.takeAll().flatMap { item -> [TappedFrame] in
            if case .frames(let frames) = item { frames } else { [] }
        }
        #expect(seen.map(\.frame) == [.startService(), .startServiceACK(session: 1)])
        #expect(seen.first?.fate == .byRelay && seen.first?.app == seen.last?.app)
    }

    @Test("so is one that waited for its turn when the link before was lost")
    func saidAtLast() throws {
        let hub = try EmbeddedHub { $0.whenLinkLost = .keep }
        let (first, second) = (try hub.app(), try hub.app())
        let late = Frame.startService(headerVersion: 5)
        try first.says(.startService())
        try second.says(late)
        #expect(try hub.heard() == [.startService()])
        try hub.link.close().wait()
        let queue = TapQueue(maximumBytes: 1 << 20)
        hub.switchboard.attach(queue, recorder(.everything))
        let next = try hub.nextLink()
        let grants = [1, 2].map { Frame.startServiceACK(session: $0) }
        #expect(try next.hears() == .startService())
        try next.says(grants[0])
        #expect(try next.hears() == late)
        try next.says(grants[1])
        hub.switchboard.tap.emit()
        #expect(frames(queue) == [.startService(), grants[0], late, grants[1]])
    }

    @Test("so is one that its app said while the link was too busy to read it")
    func readAtTheEnd() throws {
        let hub = try EmbeddedHub {
            $0.whenLinkLost = .keep
            $0.linkQueueBytes = 1000
        }
        let app = try hub.app(session: 1)
        hub.setBusy(true)
        try app.says(.data(session: 1, bytes: 2000))
        try app.says(.startService())
        #expect(hub.switchboard.sdl.router.waitingStarts == 0, "the app has to wait")
        try hub.link.close().wait()
        let queue = TapQueue(maximumBytes: 1 << 20)
        hub.switchboard.attach(queue, recorder(.everything))
        let next = try hub.nextLink()
        #expect(try next.hears() == .startService())
        try next.says(.startServiceACK(session: 2))
        hub.switchboard.tap.emit()
        #expect(frames(queue) == [.startService(), .startServiceACK(session: 2)])
    }

    @Test("each gets as much of a frame as it wants")
    func payloads() {
        let queues = (0..<3).map { _ in TapQueue(maximumBytes: 1 << 20) }
        let tap = FrameTap(queue: queues[0], loop: loop)
        tap.attach(queues[1], recorder(.everything), news: [])
        tap.attach(queues[2], recorder(.headers), news: [])
        let whole = [
            Frame.rpc(session: 1, message: 1), Frame.data(session: 1, message: 2, bytes: 100),
            Frame.control(
                .startService, service: .video, session: 1, payload: ByteBuffer(string: "x")),
        ]
        let picture = Frame.data(session: 1, service: .video, message: 3, bytes: 1000)
        for frame in whole + [picture] { tap.record(frame, .fromApp, app: app, time: time) }
        tap.emit()
        #expect(frames(queues[0]) == whole + [picture.headerOnly])
        #expect(frames(queues[1]) == whole + [picture])
        #expect(frames(queues[2]) == (whole + [picture]).map(\.headerOnly))
    }

    @Test("a frame is copied once for all")
    func once() {
        let queues = (0..<3).map { _ in TapQueue(maximumBytes: 1 << 20) }
        let tap = FrameTap(queue: queues[0], loop: loop)
        tap.attach(queues[1], recorder(.everything), news: [])
        tap.attach(queues[2], recorder(.headers), news: [])
        let sent = (1...3).map { Frame.data(session: 1, message: $0, bytes: 1000) }
        for frame in sent { tap.record(frame, .fromApp, app: app, time: time) }
        tap.emit()
        let seen = queues.map(frames)
        func places(_ frames: [Frame]) -> [UInt] {
            frames.map { $0.wire.withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) } }
        }
        #expect(seen[0] == sent && seen[1] == sent && seen[2] == sent.map(\.headerOnly))
        #expect(places(seen[0]) == places(seen[1]) && places(seen[0]) == places(seen[2]))
        #expect(Set(places(seen[0])).isDisjoint(with: places(sent)))
    }

    @Test("video that somebody records takes no memory of those who get its headers")
    func mixed() {
        let (observers, recording) = (
            TapQueue(maximumBytes: 1 << 20), TapQueue(maximumBytes: 16 << 20)
        )
        let tap = FrameTap(queue: observers, loop: loop)
        tap.attach(recording, recorder(.everything), news: [])
        let sent = (1...100).map { number in
            number % 10 == 0
                ? Frame.rpc(session: 1, message: number)
                : Frame.data(session: 1, service: .video, message: number, bytes: 20_000)
        }
        for frame in sent {
            tap.record(frame, .fromApp, app: app, time: time)
            tap.endRead()
        }
        tap.emit()
        #expect(recording.occupiedBytes > 90 * 20_000)
        #expect(observers.occupiedBytes < 100_000)
        #expect(frames(recording) == sent)
        #expect(frames(observers) == sent.map { $0.service == .video ? $0.headerOnly : $0 })
    }

    @Test("nobody is woken because another wants audio and video sooner")
    func sleeps() async {
        let (observers, recording) = (
            TapQueue(maximumBytes: 1 << 20), TapQueue(maximumBytes: 1 << 20)
        )
        let reader = Task { await observers.nextBatch() }
        while !observers.isAwaited { await Task.yield() }
        // The loop belongs to the thread that makes it.
        let loop = EmbeddedEventLoop()
        let tap = FrameTap(queue: observers, loop: loop)
        tap.attach(recording, recorder(.everything), news: [])
        let video = Frame.data(session: 1, service: .video, bytes: 1000)
        tap.record(video, .fromApp, app: app, time: time)
        tap.endRead()
        loop.advanceTime(by: .milliseconds(10))
        #expect(frames(recording) == [video])
        #expect(observers.isAwaited && observers.occupiedBytes > 0)
        loop.advanceTime(by: TapPolicy.observers.streamDelay - .milliseconds(10))
        #expect(!observers.isAwaited)
        #expect(frames(await reader.value ?? []) == [video.headerOnly])
    }

    @Test("one that is too slow misses frames alone, and hears how many")
    func slow() {
        let (fast, slow) = (TapQueue(maximumBytes: 1 << 20), TapQueue(maximumBytes: 2000))
        let tap = FrameTap(queue: fast, loop: loop)
        tap.attach(slow, recorder(.everything), news: [])
        let sent = (1...100).map { Frame.data(session: 1, message: $0, bytes: 100) }
        for frame in sent {
            tap.record(frame, .fromApp, app: app, time: time)
            tap.endRead()
            tap.emit()
        }
        #expect(frames(fast) == sent)
        #expect(fast.missedBatches == 0 && slow.missedBatches > 0)
        let items = slow.takeAll()
        let seen = frames(items)
        #expect(!seen.isEmpty && seen == Array(sent.prefix(seen.count)))
        #expect(
            missed(items) == [sent.count - seen.count], "nobody is told twice, and nobody too late")
    }

    @Test("one that has room again sees what passes from then on, and knows of every frame before")
    func catchesUp() {
        let (fast, slow) = (TapQueue(maximumBytes: 1 << 20), TapQueue(maximumBytes: 8000))
        let tap = FrameTap(queue: fast, loop: loop)
        tap.attach(slow, recorder(.everything), news: [])
        let sent = (1...60).map { number in
            Frame.data(
                session: 1, service: number % 3 == 0 ? .video : .rpc, message: number, bytes: 100)
        }
        var items: [TapItem] = []
        // Reads of two frames. The slow one looks after 40 frames, and comes back after 50.
        for start in stride(from: 0, to: 40, by: 2) { pass(sent[start..<start + 2], tap) }
        tap.emit()
        items += slow.takeAll()
        for start in stride(from: 40, to: 50, by: 2) { pass(sent[start..<start + 2], tap) }
        let seenBefore = frames(items)
        #expect(!seenBefore.isEmpty && seenBefore == Array(sent.prefix(seenBefore.count)))
        // The slow one is done with what it took.
        items += slow.takeAll()
        let control = Frame.control(.heartbeat, session: 1)
        pass([control], tap)
        pass(sent[50...], tap)
        tap.emit()
        items += slow.takeAll()
        let seen = frames(items)
        #expect(Array(seen.suffix(11)) == [control] + sent[50...])
        #expect(seen.count == seenBefore.count + 11)
        var missed = FrameSum()
        for frame in sent[seenBefore.count..<50] { missed.count(frame.wire.readableBytes) }
        #expect(missedSum(items) == [missed.frames, missed.bytes])
        var all = sent.map { $0.service == .video ? $0.headerOnly : $0 }
        all.insert(control, at: 50)
        #expect(frames(fast) == all)
        #expect(fast.missedBatches == 0)
    }

    /// Frames and bytes.
    private func missedSum(_ items: [TapItem]) -> [Int] {
        items.reduce(into: [0, 0]) { sum, item in
            guard case .missed(let frames, let bytes) = item else { return }
            sum[0] += frames
            sum[1] += bytes
        }
    }

    @Test("a frame that nobody has room for is not copied, and all are told of it")
    func nobody() {
        let queues = [TapQueue(maximumBytes: 3000), TapQueue(maximumBytes: 3000)]
        let tap = FrameTap(queue: queues[0], loop: loop)
        tap.attach(queues[1], recorder(.everything), news: [])
        let frame = Frame.data(session: 1, bytes: 1188)
        for _ in 1...5 {
            tap.record(frame, .fromApp, app: app, time: time)
            tap.endRead()
        }
        for queue in queues {
            #expect(queue.missedBatches == 1, "after the second frame it is known to be full")
            let items = queue.takeAll()
            #expect(frames(items) == [frame] && missedSum(items) == [4, 4800])
        }
    }

    @Test("what was missed is told at the end, and nobody waits for a tap that has ended")
    func ends() async {
        let slow = TapQueue(maximumBytes: 2000)
        let tap = FrameTap(queue: TapQueue(maximumBytes: 1 << 20), loop: loop)
        tap.attach(slow, recorder(.everything), news: [])
        let sent = (1...100).map { Frame.data(session: 1, message: $0, bytes: 100) }
        for frame in sent {
            tap.record(frame, .fromApp, app: app, time: time)
            tap.emit()
        }
        tap.detach(TapQueue(maximumBytes: 1))
        tap.detach(slow)
        var items: [TapItem] = []
        while let batch = await slow.nextBatch() { items += batch }
        #expect(missed(items) == [sent.count - frames(items).count])

        tap.finish()
        let late = TapQueue(maximumBytes: 2000)
        tap.attach(late, recorder(.everything), news: [])
        #expect(await late.nextBatch() == nil)
    }

    @Test("who comes or leaves in the middle of a batch gets what passes while it is there")
    func between() {
        let queues = (0..<3).map { _ in TapQueue(maximumBytes: 1 << 20) }
        let tap = FrameTap(queue: queues[0], loop: loop)
        let sent = (1...8).map { number in
            Frame.data(
                session: 1, service: number % 2 == 0 ? .video : .rpc, message: number, bytes: 500)
        }
        pass(sent[..<2], tap)
        tap.attach(queues[1], recorder(.everything), news: [])
        pass(sent[2..<4], tap)
        tap.attach(queues[2], recorder(.headers), news: [])
        pass(sent[4..<6], tap)
        tap.detach(queues[1])
        pass(sent[6...], tap)
        tap.finish()
        #expect(frames(queues[0]) == sent.map { $0.service == .video ? $0.headerOnly : $0 })
        #expect(frames(queues[1]) == Array(sent[2..<6]))
        #expect(frames(queues[2]) == sent[4...].map(\.headerOnly))
    }

    @Test("who comes later hears first who is there, and who leaves gets all it was shown")
    func comesAndGoes() async throws {
        let hub = try EmbeddedHub()
        let early = try hub.app(session: 1)
        let queue = TapQueue(maximumBytes: 1 << 20)
        hub.switchboard.attach(queue, recorder(.everything))
        try early.says(.rpc(session: 1, message: 5))
        hub.switchboard.tap.detach(queue)
        try early.says(.rpc(session: 1, message: 6))

        var items: [TapItem] = []
        while let batch = await queue.nextBatch() { items += batch }
        try #require(items.count == 4)
        guard case .linkOpened = items[0], case .appConnected(AppID(rawValue: 1), _, _) = items[1],
            case .frames(let before) = items[2], case .frames(let frames) = items[3]
        else {
            Issue.record("\(items)")
            return
        }
        #expect(before.map(\.frame.controlType) == [.startService, .startServiceACK])
        #expect(before.allSatisfy { $0.isEarlier } && before[1].grant == .opens)
        #expect(frames.map(\.frame.messageID) == [5] && !frames[0].isEarlier)
        // The others still look.
        hub.switchboard.tap.emit()
        #expect(self.frames(hub.tapQueue).map(\.messageID).suffix(2) == [5, 6])
    }
}
