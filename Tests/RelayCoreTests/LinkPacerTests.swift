// The pacer alone, and with the scheduler over a model of a link with deep buffers.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("LinkPacer bounds by time what is on its way")
struct LinkPacerTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    @Test("a link that keeps up is never held, and looked at once per 64 KB")
    func fastLink() {
        var pacer = LinkPacer()
        var looks = 0
        for step in 0..<1024 {
            if pacer.room < 1024 {
                looks += 1
                pacer.looked(waiting: 0, at: start + .microseconds(Int64(step)))
            }
            #expect(pacer.room >= 1024)
            pacer.wrote(1024)
        }
        #expect(looks <= 1024 * 1024 / LinkPacer.leastLookBytes + 2, "and twice at the start")
        #expect(pacer.rate == nil)
    }

    @Test("a link that was measured lets in 10 ms of its rate")
    func learnt() {
        var pacer = LinkPacer()
        pacer.wrote(16_384)
        pacer.held(at: start)
        pacer.looked(waiting: 6384, at: start + .milliseconds(10))
        #expect(pacer.rate == 1_000_000)
        #expect(pacer.limit == 10_000)
        #expect(pacer.room == 3616)
        pacer.looked(waiting: 4000, at: start + .milliseconds(11))
        #expect(pacer.room == .max, "the next frame goes before the link runs dry")
        pacer.wrote(8000)
        #expect(pacer.room == 0)
        #expect(pacer.nextLook == .milliseconds(8))
    }

    @Test("a fast link gets more in one go, never more than a read brings")
    func batches() {
        var pacer = LinkPacer()
        #expect(pacer.batchBytes == 4 << 10)
        for (gone, batch) in [(100_000, 4 << 10), (4_000_000, 100_000), (99_000_000, 256 << 10)] {
            pacer = LinkPacer()
            pacer.wrote(gone + 1000)
            pacer.held(at: start)
            pacer.looked(waiting: 1000, at: start + .milliseconds(10))
            #expect(pacer.batchBytes == batch)
        }
    }

    @Test("a stalled link is believed to be slow, and one that runs dry to be faster")
    func change() {
        var pacer = LinkPacer()
        pacer.wrote(20_000)
        pacer.held(at: start)
        pacer.looked(waiting: 10_000, at: start + .milliseconds(10))
        pacer.looked(waiting: 10_000, at: start + .milliseconds(20))
        #expect(pacer.rate == 500_000)
        pacer.looked(waiting: 10_000, at: start + .milliseconds(30))
        #expect(pacer.rate == 250_000)
        pacer.looked(waiting: 0, at: start + .milliseconds(35))
        #expect(pacer.rate == 2_000_000, "10 KB in 5 ms at least")
        pacer.wrote(1000)
        pacer.looked(waiting: 0, at: start + .milliseconds(45))
        #expect(pacer.rate == 3_000_000, "it could have taken more")
    }

    @Test("time in which nothing waits teaches nothing")
    func idle() {
        var pacer = LinkPacer()
        pacer.wrote(20_000)
        pacer.held(at: start)
        pacer.looked(waiting: 10_000, at: start + .milliseconds(10))
        pacer.released()
        pacer.wrote(1000)
        pacer.looked(waiting: 500, at: start + .seconds(60))
        #expect(pacer.rate == 1_000_000)
    }

    @Test("a kernel that counts its overhead is not believed more than was written")
    func overhead() {
        var pacer = LinkPacer()
        pacer.wrote(100)
        pacer.looked(waiting: 768, at: start)
        #expect(pacer.inFlight == 100)
    }

    @Test(
        "an RPC waits as long as the link needs for a frame, not for what its buffers take",
        arguments: [
            (rate: 1_000_000, frame: 8 << 10, milliseconds: 20),
            (1_000_000, 128 << 10, 200), (150_000, 8 << 10, 120), (150_000, 128 << 10, 1000),
            (11_520, 1024, 200), (5_000_000, 128 << 10, 60),
        ])
    func latency(rate: Int, frame: Int, milliseconds: Int) {
        var link = BufferedLink(bytesPerSecond: rate)
        var random = SeededGenerator(seed: UInt64(rate + frame))
        var waits: [TimeAmount] = []
        var sent = 0
        var largest = 0
        var due = NIODeadline.uptimeNanoseconds(0)
        let seconds = 8
        let end = NIODeadline.uptimeNanoseconds(0) + .seconds(Int64(seconds))
        let file = Frame.data(session: 1, bytes: frame - 12)
        var isLearnt = false
        while link.now < end {
            if link.scheduler.waitingBytes < 2 * frame {
                link.enqueue(file, from: 1)
            }
            if link.now >= due {
                link.enqueue(.rpc(session: 2), from: 2)
                due = link.now + .milliseconds(Int64.random(in: 50...150, using: &random))
            }
            for (frame, came) in link.turn() {
                sent += frame.wire.readableBytes
                // The first second is for learning.
                isLearnt = isLearnt || link.now > .uptimeNanoseconds(1_000_000_000)
                if isLearnt { largest = max(largest, link.inKernel) }
                if frame.service == .rpc, isLearnt {
                    // It has arrived when all before it has gone.
                    waits.append(link.now - came + link.time(of: link.inKernel))
                }
            }
        }
        waits.sort()
        let worst = waits[waits.count * 99 / 100]
        #expect(worst <= .milliseconds(Int64(milliseconds)), "\(worst.nanoseconds / 1000) µs")
        let bound = max(LinkPacer.leastBytes, rate / 20) + frame
        #expect(largest <= bound, "50 ms and a frame")
        #expect(sent >= rate * seconds * 9 / 10, "the link is used: \(sent) bytes")
        let learnt = link.pacer.rate ?? 0
        #expect(learnt > Double(rate) / 2 && learnt < Double(rate) * 2, "learnt \(learnt)")
    }
}

/// A link with a buffer that takes everything, drained at a rate; the switchboard's part on paper.
private struct BufferedLink {
    var scheduler = LinkScheduler<Int>()
    var pacer = LinkPacer()
    var now = NIODeadline.uptimeNanoseconds(0)
    let bytesPerSecond: Int
    var inKernel = 0

    init(bytesPerSecond: Int) {
        self.bytesPerSecond = bytesPerSecond
    }

    func time(of bytes: Int) -> TimeAmount {
        .nanoseconds(Int64(bytes) * 1_000_000_000 / Int64(bytesPerSecond))
    }

    mutating func enqueue(_ frame: Frame, from app: Int) {
        scheduler.enqueue(frame, from: app, at: now)
        pacer.held(at: now)
    }

    /// What is written now and when it had come; then time goes on to the next look.
    mutating func turn() -> [(Frame, NIODeadline)] {
        var written: [(Frame, NIODeadline)] = []
        while let entry = scheduler.next(at: now, upTo: pacer.room) {
            pacer.wrote(entry.frame.wire.readableBytes)
            inKernel += entry.frame.wire.readableBytes
            written.append((entry.frame, entry.since))
        }
        if scheduler.isEmpty { pacer.released() }
        let pause = min(pacer.nextLook, .milliseconds(5))
        now = now + pause
        let drained = Double(bytesPerSecond) * Double(pause.nanoseconds) / 1e9
        inKernel = max(0, inKernel - Int(drained))
        pacer.looked(waiting: inKernel, at: now)
        return written
    }
}
