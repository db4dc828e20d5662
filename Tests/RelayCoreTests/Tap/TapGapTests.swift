// The reader of a tap's queue, and items that did not fit into the queue while the reader waited for more.

import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("Who waits for the next batch is told at once of what is not in it")
struct TapGapTests {
    private let queue = TapQueue(maximumBytes: 1000)
    private let time = WallTime(nanoseconds: 1)

    /// Runs `action` while a reader waits, and returns what the reader gets; nil if it goes on waiting.
    private func heard(_ action: () -> Void) async -> [TapItem]? {
        let reader = Task { [queue] in await queue.nextBatch() }
        while !queue.isAwaited { await Task.yield() }
        action()
        let isTold = !queue.isAwaited
        queue.finish()
        let items = await reader.value
        return isTold ? items : nil
    }

    @Test("a batch that is larger than the whole queue")
    func batch() async {
        var batch = TapBatch(.everything)
        batch.append(
            TappedFrame(
                frame: .data(session: 1, bytes: 1988), direction: .fromApp, app: nil, time: time))
        let view = TapView(batch, .everything)
        let items = await heard { #expect(!queue.push(view)) }
        guard case .missed(frames: 1, bytes: 2000) = items?.first, items?.count == 1 else {
            Issue.record("the gap is not shown: \(items ?? [])")
            return
        }
    }

    @Test(
        "the last frames of a flood, which nobody collected because the queue was full until then")
    func frames() async {
        var missed = FrameSum()
        missed.count(400)
        missed.count(600)
        let items = await heard { queue.miss(missed) }
        guard case .missed(frames: 2, bytes: 1000) = items?.first, items?.count == 1 else {
            Issue.record("the gap is not shown: \(items ?? [])")
            return
        }
    }

    @Test("bytes that were no frame, and nothing else")
    func bytes() async {
        var missed = FrameSum()
        missed.bytes(17)
        let items = await heard { queue.miss(missed) }
        guard case .missed(frames: 0, bytes: 17) = items?.first, items?.count == 1 else {
            Issue.record("the gap is not shown: \(items ?? [])")
            return
        }
    }

    @Test("an event that must be told")
    func event() async {
        let reason = String(repeating: "unplugged ", count: 100)
        let items = await heard { queue.push(.linkClosed(reason: reason, time: time)) }
        guard case .linkClosed(reason, time: _) = items?.first, items?.count == 1 else {
            Issue.record("the event is not shown: \(items ?? [])")
            return
        }
    }

    @Test("what leaves no gap wakes nobody")
    func nothing() async {
        let items = await heard { queue.miss(FrameSum()) }
        #expect(items == nil)
    }
}
