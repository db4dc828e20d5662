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
        #expect(looks <= 1024 * 1024 / LinkPacer.leastLookBytes + 3, "and more often at first")
        #expect(pacer.rate == nil)
    }

    /// Writes so much that a link takes at once, 256 KB each 100 µs as a read brings them.
    private func proven(_ pacer: inout LinkPacer, bytes: Int) -> (now: NIODeadline, looks: Int) {
        var (now, looks, written) = (start, 0, 0)
        pacer.looked(waiting: 0, at: now)
        while written < bytes {
            now = now + .microseconds(100)
            for frame in 0..<16 {
                if pacer.room < 16 << 10 || (frame == 0 && pacer.isLookWelcome) {
                    looks += 1
                    pacer.looked(waiting: 0, at: now)
                }
                pacer.wrote(16 << 10)
                written += 16 << 10
            }
        }
        return (now, looks)
    }

    @Test("a very fast link is looked at once per read, between two of them")
    func veryFastLink() {
        var pacer = LinkPacer()
        _ = proven(&pacer, bytes: 8 << 20)
        #expect(proven(&pacer, bytes: 8 << 20).looks == 31, "32 reads, the first after a look")
    }

    @Test("what a link has proven is believed for 10 ms while it leaves something on its way")
    func proof() {
        var pacer = LinkPacer()
        let (now, _) = proven(&pacer, bytes: 8 << 20)
        pacer.wrote(200_000)
        pacer.looked(waiting: 400_000, at: now + .milliseconds(5))
        #expect(pacer.limit == LinkPacer.mostUnmeasuredBytes)
        #expect(pacer.room == LinkPacer.mostUnmeasuredBytes - 400_000, "and no more than that")
        pacer.looked(waiting: 400_000, at: now + .milliseconds(11))
        #expect(pacer.limit == LinkPacer.firstBytes)
        #expect(pacer.room == 0)
    }

    @Test("a kernel that takes no more ends a proof at once")
    func full() {
        var pacer = LinkPacer()
        let (now, _) = proven(&pacer, bytes: 8 << 20)
        pacer.looked(waiting: 0, isFull: true, at: now)
        #expect(pacer.limit == LinkPacer.firstBytes)
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

    @Test("a link that slows down, stands still, or runs dry")
    func change() {
        var pacer = LinkPacer()
        pacer.wrote(20_000)
        pacer.held(at: start)
        pacer.looked(waiting: 10_000, at: start + .milliseconds(10))
        pacer.looked(waiting: 10_000, at: start + .milliseconds(20))
        #expect(pacer.rate == 1_000_000, "a window that opens in steps")
        pacer.looked(waiting: 8_000, at: start + .milliseconds(30))
        #expect(pacer.rate == 550_000, "2 KB in 20 ms")
        pacer.looked(waiting: 8_000, at: start + .milliseconds(1030))
        #expect(pacer.rate == 275_000, "nothing for a second")
        pacer.looked(waiting: 0, at: start + .milliseconds(1035))
        #expect(pacer.rate == 275_000, "a buffer may have taken it")
        #expect(pacer.room == .max, "but whatever comes follows at once")
        pacer.wrote(92_000)
        pacer.looked(waiting: 0, at: start + .milliseconds(1080))
        #expect(pacer.rate == 2_000_000, "100 KB in 50 ms at least")
        pacer.wrote(1000)
        pacer.looked(waiting: 0, at: start + .milliseconds(1130))
        #expect(pacer.rate == 3_000_000, "it could have taken more")
    }

    @Test("a link that stands still is looked at less and less often, at last every 50 ms")
    func standstill() {
        for learnt in [false, true] {
            var pacer = LinkPacer()
            pacer.wrote(20_000)
            pacer.held(at: start)
            if learnt { pacer.looked(waiting: 10_000, at: start + .milliseconds(10)) }
            var now = start + .milliseconds(10)
            var looks = 0
            while now < start + .seconds(60) {
                now = now + pacer.nextLook
                looks += 1
                pacer.looked(waiting: 10_000, at: now)
            }
            #expect(looks < 60 * 20 + 100, "\(looks) looks in a minute")
            #expect(pacer.nextLook == LinkPacer.longestLook)
            // It goes on: the next look comes soon again.
            pacer.looked(waiting: 5_000, at: now + .milliseconds(1))
            pacer.looked(waiting: 100, at: now + .seconds(1))
            #expect(pacer.nextLook < .milliseconds(5))
        }
    }

    @Test("a link found faster again and again has a bounded rate, which comes down in 0.2 s")
    func runaway() {
        var pacer = LinkPacer()
        pacer.held(at: start)
        var now = start
        for _ in 0..<5000 {
            pacer.wrote(1000)
            now = now + .milliseconds(60)
            pacer.looked(waiting: 0, at: now)
        }
        #expect(pacer.rate == LinkPacer.mostRate)
        #expect(pacer.limit <= Int(LinkPacer.mostRate / 100))
        pacer.wrote(300_000)
        for step in 1...20 as ClosedRange<Int64> {
            pacer.looked(waiting: 300_000 - Int(step) * 10_000, at: now + .milliseconds(10 * step))
        }
        #expect((pacer.rate ?? 0) < 1_010_000)
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

    @Test("what a receive buffer takes at once is believed as far as it went")
    func receiveBuffer() {
        var pacer = LinkPacer()
        var taken = 0
        while taken < 14_000 {
            pacer.wrote(2000)
            taken += 2000
            pacer.looked(waiting: 0, at: start + .microseconds(Int64(taken) / 100))
        }
        #expect(pacer.limit <= LinkPacer.firstBytes + taken)
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
        ], [0, 8 << 10])
    func latency(_ link: (rate: Int, frame: Int, milliseconds: Int), receiveBuffer: Int) {
        let (rate, frame, milliseconds) = link
        var link = BufferedLink(bytesPerSecond: rate, receiveBuffer: receiveBuffer)
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
            while link.scheduler.waitingBytes < max(2 * frame, 16 << 10) {
                link.enqueue(file, from: 1)
            }
            if link.now >= due {
                link.enqueue(.rpc(session: 2), from: 2)
                due = link.now + .milliseconds(Int64.random(in: 50...150, using: &random))
            }
            for (frame, wait) in link.turn() {
                sent += frame.wire.readableBytes
                // The first second is for learning.
                isLearnt = isLearnt || link.now > .uptimeNanoseconds(1_000_000_000)
                if isLearnt { largest = max(largest, link.inKernel) }
                if frame.service == .rpc, isLearnt {
                    waits.append(wait)
                }
            }
        }
        waits.sort()
        let worst = waits[waits.count * 99 / 100]
        let most = TimeAmount.milliseconds(Int64(milliseconds)) + link.time(of: 2 * receiveBuffer)
        #expect(worst <= most, "\(worst.nanoseconds / 1000) µs")
        let bound = max(LinkPacer.leastBytes, rate / 20) + frame + receiveBuffer
        #expect(largest <= bound, "50 ms and a frame")
        #expect(sent >= rate * seconds * 9 / 10, "the link is used: \(sent) bytes")
        let learnt = link.pacer.rate ?? 0
        #expect(learnt > Double(rate) / 2 && learnt < Double(rate) * 2, "learnt \(learnt)")
    }
}

/// A link with a buffer that takes everything, drained at a rate by a head unit that opens its
/// receive buffer when half of it is free; the switchboard's part on paper.
private struct BufferedLink {
    var scheduler = LinkScheduler<Int>()
    var pacer = LinkPacer()
    var now = NIODeadline.uptimeNanoseconds(0)
    let bytesPerSecond: Int
    /// Bytes that the head unit takes before it reads them.
    let receiveBuffer: Int
    var inKernel = 0
    var received = 0
    private var isOpen = true

    init(bytesPerSecond: Int, receiveBuffer: Int) {
        self.bytesPerSecond = bytesPerSecond
        self.receiveBuffer = receiveBuffer
    }

    func time(of bytes: Int) -> TimeAmount {
        .nanoseconds(Int64(bytes) * 1_000_000_000 / Int64(bytesPerSecond))
    }

    mutating func enqueue(_ frame: Frame, from app: Int) {
        scheduler.enqueue(frame, from: app, at: now)
        pacer.held(at: now)
    }

    /// What is written now and when the head unit will have read it, counted from when it came;
    /// then time goes on to the next look.
    mutating func turn() -> [(Frame, TimeAmount)] {
        var written: [(Frame, TimeAmount)] = []
        while let entry = scheduler.next(at: now, upTo: pacer.room) {
            pacer.wrote(entry.frame.wire.readableBytes)
            inKernel += entry.frame.wire.readableBytes
            written.append((entry.frame, now - entry.since + time(of: inKernel + received)))
        }
        if scheduler.isEmpty { pacer.released() }
        let pause = min(pacer.nextLook, .milliseconds(5))
        now = now + pause
        var bytes = Int(Double(bytesPerSecond) * Double(pause.nanoseconds) / 1e9)
        while bytes > 0 {
            read(min(bytes, 100))
            bytes -= 100
        }
        pacer.looked(waiting: inKernel, at: now)
        return written
    }

    private mutating func read(_ bytes: Int) {
        guard receiveBuffer > 0 else {
            inKernel = max(0, inKernel - bytes)
            return
        }
        received = max(0, received - bytes)
        if received <= receiveBuffer / 2 { isOpen = true }
        guard isOpen else { return }
        let taken = min(inKernel, receiveBuffer - received)
        inKernel -= taken
        received += taken
        isOpen = received < receiveBuffer
    }
}
