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
