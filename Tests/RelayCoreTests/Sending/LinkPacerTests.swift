// The pacer alone, and with the scheduler over a model of a link with deep buffers.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("LinkPacer bounds by time what is on its way")
struct LinkPacerTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    private let sample = LinkPacer.sampleTime

    @Test("a link that keeps up is never held, and polled once per 10 ms of its traffic")
    func fastLink() {
        var pacer = LinkPacer()
        var polls = 0
        for step in 0..<10_000 {
            if pacer.room < 1024 {
                polls += step < 1000 ? 0 : 1
                pacer.polled(unsent: 0, at: start + .microseconds(100 * Int64(step)))
            }
            #expect(pacer.room >= 1024)
            pacer.wrote(1024)
        }
        #expect(polls <= 100, "and more often in the first sample")
        #expect(pacer.rate == nil)
    }

    @Test("a very fast link is polled once per read, between two of them")
    func veryFastLink() {
        var pacer = LinkPacer()
        var polls = 0
        // 256 KB each 100 µs.
        for read in 0..<1000 as Range<Int64> {
            if read == 900 { polls = 0 }
            for frame in 0..<16 {
                if pacer.room < 16 << 10 || (frame == 0 && pacer.isPollWelcome) {
                    polls += 1
                    pacer.polled(unsent: 0, at: start + .microseconds(100 * read))
                    #expect(read < 900 || frame == 0)
                }
                pacer.wrote(16 << 10)
            }
        }
        #expect(polls == 100)
        #expect(pacer.limit == LinkPacer.mostBytes)
    }

    /// A pacer that has measured `rate` bytes per second; 10 ms' worth are on their way.
    private func learnt(_ rate: Int) -> LinkPacer {
        var pacer = LinkPacer()
        pacer.wrote(rate / 20 + rate / 100)
        pacer.held(at: start)
        pacer.polled(unsent: rate / 100, at: start + sample)
        return pacer
    }

    @Test("a link that was measured lets in 10 ms of its rate")
    func learnt() {
        var pacer = learnt(1_000_000)
        #expect(pacer.rate == 1_000_000)
        #expect(pacer.limit == 10_000)
        #expect(pacer.room == 0)
        pacer.polled(unsent: 6384, at: start + sample + .milliseconds(4))
        #expect(pacer.room == 3616)
        pacer.polled(unsent: 4000, at: start + sample + .milliseconds(6))
        #expect(pacer.room == .max, "the next frame goes before the link runs dry")
        pacer.wrote(9000)
        #expect(pacer.room == 0)
        #expect(pacer.nextPoll == .milliseconds(8))
    }

    @Test("a fast link gets more in one go, never more than a read brings")
    func batches() {
        #expect(LinkPacer().batchBytes == 2 << 10)
        #expect(learnt(1_000_000).batchBytes == 5000)
        #expect(learnt(2_000_000_000).batchBytes == 256 << 10)
    }

    @Test("a link that slows down, stands still, or runs dry")
    func change() {
        var pacer = learnt(1_000_000)
        var now = start + sample
        func pass(_ time: TimeAmount, unsent: Int) -> Double? {
            now = now + time
            pacer.polled(unsent: unsent, at: now)
            return pacer.rate
        }
        #expect(pass(.milliseconds(60), unsent: 10_000) == 1_000_000, "a window opens in steps")
        #expect(pass(.milliseconds(40), unsent: 8000) == 510_000, "2 KB in 100 ms")
        #expect(pass(.seconds(10), unsent: 8000) == 510_000, "a standstill is no speed")
        #expect(pass(.milliseconds(10), unsent: 0) == 510_000, "a buffer may have taken it")
        #expect(pacer.room == .max, "but whatever comes follows at once")
        pacer.wrote(100_000)
        #expect(pass(.milliseconds(50), unsent: 0) == 2_000_000, "100 KB in 50 ms at least")
        pacer.wrote(1000)
        #expect(pass(.milliseconds(50), unsent: 0) == 2_000_000, "it could have taken more")
    }

    @Test("a link that stands still is polled less and less often, at last every 50 ms")
    func standstill() {
        for isLearnt in [false, true] {
            var pacer = LinkPacer()
            if isLearnt {
                pacer = learnt(1_000_000)
            } else {
                pacer.wrote(10_000)
                pacer.held(at: start)
            }
            var now = start + sample
            var polls = 0
            while now < start + .seconds(60) {
                now = now + pacer.nextPoll
                polls += 1
                pacer.polled(unsent: 10_000, at: now)
            }
            #expect(polls < 60 * 20 + 100, "\(polls) polls in a minute")
            #expect(pacer.nextPoll == LinkPacer.longestPoll)
            // The link moves again: the next poll comes soon.
            pacer.polled(unsent: 5_000, at: now + .milliseconds(1))
            pacer.polled(unsent: 100, at: now + .seconds(1))
            #expect(pacer.nextPoll < .milliseconds(5))
        }
    }

    @Test("a rate of a thousand times what the link takes now comes down in 0.6 s")
    func slowDown() {
        var pacer = learnt(1_000_000_000)
        #expect(pacer.limit == LinkPacer.mostBytes)
        let now = start + sample
        for step in 1...60 as ClosedRange<Int64> {
            pacer.wrote(10_000)
            pacer.polled(unsent: 10_000_000, at: now + .milliseconds(10 * step))
        }
        #expect((pacer.rate ?? 0) < 1_300_000)
    }

    @Test("time in which nothing waits teaches nothing")
    func idle() {
        var pacer = learnt(1_000_000)
        pacer.released()
        pacer.wrote(1000)
        pacer.polled(unsent: 500, at: start + .seconds(60))
        #expect(pacer.rate == 1_000_000)
    }

    @Test("a link that never stays busy for a whole sample is still known to take what it took")
    func busyForMoments() {
        var pacer = LinkPacer()
        for step in 0..<100 as Range<Int64> {
            let now = start + .milliseconds(10 * step)
            pacer.held(at: now)
            pacer.wrote(10_000)
            pacer.polled(unsent: 5000, at: now + .milliseconds(1))
            pacer.polled(unsent: 0, at: now + .milliseconds(5))
            pacer.released()
        }
        #expect(pacer.limit >= 10_000)
    }

    @Test("what a receive buffer takes at once lets in a fifth of that")
    func receiveBuffer() {
        var pacer = LinkPacer()
        pacer.held(at: start)
        for step in 0..<32 as Range<Int64> {
            pacer.wrote(2 << 10)
            pacer.polled(unsent: 0, at: start + .microseconds(10 * step))
        }
        pacer.wrote(4 << 10)
        pacer.polled(unsent: 4 << 10, at: start + .milliseconds(50))
        #expect(pacer.limit <= 64 << 10 / 5)
    }

    @Test("a link that stood still for two seconds, or has become fast, is full again soon")
    func fullAgain() {
        for (before, after) in [(0, 1_000_000), (100_000, 1_000_000), (0, 20_000_000)] {
            var link = BufferedLink(bytesPerSecond: after, receiveBuffer: 0)
            var sent = 0
            func run(_ rate: Int, milliseconds: Int64) {
                link.bytesPerSecond = rate
                sent = 0
                let end = link.now + .milliseconds(milliseconds)
                while link.now < end {
                    while link.scheduler.waitingBytes < 64 << 10 {
                        link.enqueue(.data(session: 1, bytes: (8 << 10) - 12), from: 1)
                    }
                    sent += link.turn().reduce(0) { $0 + $1.0.wire.readableBytes }
                }
            }
            run(after, milliseconds: 1000)
            run(before, milliseconds: 2000)
            run(after, milliseconds: 1000)
            #expect(sent >= after * 9 / 10, "\(before) to \(after): \(sent) bytes")
        }
    }

    @Test("a kernel that counts its overhead is not believed more than was written")
    func overhead() {
        var pacer = LinkPacer()
        pacer.wrote(100)
        pacer.polled(unsent: 768, at: start)
        #expect(pacer.inFlight == 100)
    }

    @Test("whatever the kernel says, a link that has nothing left gets the next frame")
    func anyKernel() {
        for seed in 1...50 as ClosedRange<UInt64> {
            var random = SeededGenerator(seed: seed)
            var pacer = LinkPacer()
            var now = start
            for _ in 0..<200 {
                let times: [TimeAmount] = [
                    .zero, .nanoseconds(1), .microseconds(500), .milliseconds(50), .hours(24),
                ]
                let unsent = [Int.min, -1, 0, 1, 512, 1 << 20, Int.max].randomElement(
                    using: &random)
                now = now + (times.randomElement(using: &random) ?? .zero)
                switch Int.random(in: 0..<5, using: &random) {
                case 0: pacer.wrote(.random(in: 0...(1 << 18), using: &random))
                case 1: pacer.held(at: now)
                case 2: pacer.released()
                default: pacer.polled(unsent: unsent ?? 0, isFull: .random(using: &random), at: now)
                }
                #expect((LinkPacer.leastBytes...LinkPacer.mostBytes).contains(pacer.limit))
                #expect(pacer.room >= 0 && pacer.inFlight >= 0 && pacer.batchBytes > 0)
                #expect((pacer.rate ?? 0).isFinite)
                #expect(
                    (LinkPacer.shortestPoll...LinkPacer.longestPoll).contains(pacer.nextPoll))
            }
            pacer.polled(unsent: 0, at: now)
            #expect(pacer.room == .max)
        }
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
        // A sample may have seen only what a receive buffer takes when it opens.
        let fastest = max(rate * 2, receiveBuffer * 15)
        #expect(learnt > Double(rate) / 2 && learnt < Double(fastest), "learnt \(learnt)")
    }
}

/// A link with a buffer that takes everything, drained at a rate by a head unit that opens its
/// receive buffer when half of it is free; plays the switchboard's part on paper.
private struct BufferedLink {
    var scheduler = LinkScheduler<Int>()
    var pacer = LinkPacer()
    var now = NIODeadline.uptimeNanoseconds(0)
    var bytesPerSecond: Int
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
        .nanoseconds(Int64(bytes) * 1_000_000_000 / Int64(max(1, bytesPerSecond)))
    }

    mutating func enqueue(_ frame: Frame, from app: Int) {
        scheduler.enqueue(frame, from: app, at: now)
        pacer.held(at: now)
    }

    /// Returns the frames written now, each with the time from its arrival until the head unit will have
    /// read it; then time goes on to the next poll.
    mutating func turn() -> [(Frame, TimeAmount)] {
        var written: [(Frame, TimeAmount)] = []
        while let entry = scheduler.next(at: now, upTo: pacer.room) {
            pacer.wrote(entry.frame.wire.readableBytes)
            inKernel += entry.frame.wire.readableBytes
            written.append((entry.frame, now - entry.since + time(of: inKernel + received)))
        }
        if scheduler.isEmpty { pacer.released() }
        let pause = min(pacer.nextPoll, .milliseconds(5))
        now = now + pause
        var bytes = Int(Double(bytesPerSecond) * Double(pause.nanoseconds) / 1e9)
        while bytes > 0 {
            read(min(bytes, 100))
            bytes -= 100
        }
        pacer.polled(unsent: inKernel, at: now)
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
