import NIOCore
import RelayTesting
import Testing

@testable import RelayCore

@Suite("SlowAppPolicy slows the link for an app, but not for long")
struct SlowAppPolicyTests {
    private typealias Flow = SlowAppPolicy<String>
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
    private let limit = 16 << 20

    private func flow(_ whenSlow: Flow.WhenSlow = .drop) -> Flow {
        Flow(grace: .milliseconds(50), queueLimit: limit, whenSlow: whenSlow)
    }

    private func ms(_ milliseconds: Int64) -> NIODeadline { start + .milliseconds(milliseconds) }

    @Test("the link is held for an app that reads again within the grace")
    func held() {
        var flow = flow()
        #expect(
            flow.blocked("music", .init(queued: 2 << 20, taken: 0), isAlone: false, at: start)
                == .hold)
        #expect(flow.isLinkHeld)
        flow.drained("music", at: ms(20))
        #expect(!flow.isLinkHeld)
        #expect(flow.nextDeadline == nil)
    }

    @Test("an app that stops reading costs the others less than 50 ms unless told otherwise")
    func graceOfTheHouse() {
        let worst = RelayConfiguration().stallGrace + Flow.pollInterval
        #expect(worst < .milliseconds(50), "no more than one poll late")
    }

    @Test("a shorter grace counts for the next app, a smaller queue for one that is slow already")
    func reconfigured() {
        var flow = flow()
        let much = Flow.ReadingProgress(queued: 2 << 20, taken: 0)
        #expect(flow.blocked("music", much, isAlone: false, at: start) == .hold)
        flow.reconfigure(grace: .milliseconds(10), queueLimit: 1 << 20, whenSlow: .drop)
        #expect(flow.blocked("music", much, isAlone: false, at: ms(20)) == .dropStuck)
        flow.drained("music", at: ms(20))
        let little = Flow.ReadingProgress(queued: 1 << 10, taken: 0)
        #expect(flow.blocked("maps", little, isAlone: false, at: ms(1000)) == .hold)
        #expect(flow.blocked("maps", little, isAlone: false, at: ms(1011)) == .go)
    }

    @Test("a stuck app costs the others the grace once, and is closed when its queue is full")
    func stuck() {
        var flow = flow()
        #expect(
            flow.blocked("music", .init(queued: 2 << 20, taken: 9), isAlone: false, at: start)
                == .hold)
        var now = start
        while flow.isLinkHeld, let next = flow.nextDeadline {
            now = next
            let dropped = flow.advance(to: now, isAlone: false) { _ in
                .init(queued: 2 << 20, taken: 9)
            }
            #expect(dropped.isEmpty)
        }
        #expect(now == ms(50))
        for queued in stride(from: 3 << 20, through: limit, by: 1 << 20) {
            now = now + .milliseconds(100)
            #expect(
                flow.blocked("music", .init(queued: queued, taken: 9), isAlone: false, at: now)
                    == .go)
        }
        #expect(
            flow.blocked("music", .init(queued: limit + 1, taken: 9), isAlone: false, at: now)
                == .dropStuck)
        #expect(!flow.isLinkHeld)
    }

    @Test("an app that reads at least half as fast as the link brings is never closed")
    func slowButSteady() {
        var bench = Bench(flow: flow(), brings: 8000, takes: 4600, limit: limit)
        let verdict = bench.run(for: 20_000)
        #expect(verdict == nil)
        #expect(bench.queued <= limit + 8000)
        #expect(bench.heldMilliseconds > 0, "the link has been slowed")
    }

    @Test("an app that reads much more slowly than the link brings is closed for that reason")
    func behind() {
        var bench = Bench(flow: flow(), brings: 8000, takes: 1000, limit: limit)
        let verdict = bench.run(for: 20_000)
        #expect(verdict == .dropBehind)
        #expect(bench.queued > limit && bench.queued <= limit + 8000)
    }

    @Test("hold: an app that reads a little is waited for as long as it takes")
    func hold() {
        var bench = Bench(flow: flow(.hold), brings: 8000, takes: 100, limit: limit)
        #expect(bench.run(for: 20_000) == nil)
        #expect(bench.queued <= limit + 8000)
    }

    @Test("hold: an app that reads nothing is closed all the same when others are there")
    func holdStuck() {
        var bench = Bench(flow: flow(.hold), brings: 8000, takes: 0, limit: limit)
        #expect(bench.run(for: 20_000) == .dropStuck)
        #expect(bench.heldMilliseconds <= 2001)
    }

    @Test("a lone app holds the link as long as it reads, and is closed when it does not")
    func lone() {
        var slow = Bench(flow: flow(), brings: 8000, takes: 10, limit: limit, isAlone: true)
        #expect(slow.run(for: 20_000) == nil)
        #expect(slow.queued < 2 << 20)
        var stuck = Bench(flow: flow(), brings: 8000, takes: 0, limit: limit, isAlone: true)
        #expect(stuck.run(for: 20_000) == .dropStuck)
        var patient = Bench(flow: flow(.hold), brings: 8000, takes: 0, limit: limit, isAlone: true)
        #expect(patient.run(for: 20_000) == nil, "hold waits for a breakpoint")
    }

    @Test("however apps read, the link stands still half of the time at most, 50 ms in one piece")
    func bounded() async {
        var generator = SeededGenerator(seed: 7)
        var flow = flow()
        var sights: [String: Flow.ReadingProgress] = [:]
        for name in ["a", "b", "c", "d", "e"] { sights[name] = .init(queued: 0, taken: 0) }
        var held = 0
        var piece = 0
        var longest = 0
        let total: Int64 = 100_000
        for millisecond in 1...total {
            if millisecond % 100 == 0 { await Task.yield() }
            let now = ms(millisecond)
            if flow.isLinkHeld {
                held += 1
                piece += 1
                longest = max(longest, piece)
            } else {
                piece = 0
            }
            for name in sights.keys.sorted() {
                guard var progress = sights[name] else { continue }
                let take = min(Int.random(in: 0...6000, using: &generator), progress.queued)
                progress.queued -= take
                progress.taken += UInt64(take)
                if !flow.isLinkHeld {
                    progress.queued += Int.random(in: 0...20_000, using: &generator)
                }
                sights[name] = progress
                if progress.queued > 1 << 20 {
                    let verdict = flow.blocked(name, progress, isAlone: false, at: now)
                    if verdict == .dropBehind || verdict == .dropStuck {
                        flow.drained(name, at: now)
                        sights[name] = .init(queued: 0, taken: 0)
                    }
                }
            }
            if let next = flow.nextDeadline, next <= now {
                for late in flow.advance(
                    to: now, isAlone: false, progress: { sights[$0] ?? .init(queued: 0, taken: 0) })
                {
                    flow.drained(late.app, at: now)
                    sights[late.app] = .init(queued: 0, taken: 0)
                }
            }
        }
        #expect(held > 1000, "the apps were slow enough to be a test")
        #expect(held <= Int(total) / 2 + 50)
        // One step of this test's clock more than the grace.
        #expect(longest <= 51)
    }

    /// A link that brings bytes at one rate to an app that takes them at another.
    private struct Bench {
        var flow: Flow
        let brings: Int
        let takes: Int
        let limit: Int
        var isAlone = false
        private(set) var queued = 0
        private(set) var heldMilliseconds = 0
        private var taken: UInt64 = 0

        init(flow: Flow, brings: Int, takes: Int, limit: Int, isAlone: Bool = false) {
            self.flow = flow
            self.brings = brings
            self.takes = takes
            self.limit = limit
            self.isAlone = isAlone
        }

        /// - Returns: Why the app was closed; nil if it was not.
        mutating func run(for milliseconds: Int64) -> Flow.Verdict? {
            var now = NIODeadline.uptimeNanoseconds(1_000_000_000)
            // Steps of 200 µs, so that bytes come as evenly as from a real link.
            for step in 0..<(milliseconds * 5) {
                now = now + .microseconds(200)
                let bytes = min(takes / 5, queued)
                queued -= bytes
                taken += UInt64(bytes)
                // The marks of AppListener.
                if queued < 256 << 10 { flow.drained("music", isAlone: isAlone, at: now) }
                let progress = Flow.ReadingProgress(queued: queued, taken: taken)
                if let next = flow.nextDeadline, next <= now {
                    let dropped = flow.advance(to: now, isAlone: isAlone) { _ in progress }
                    if let first = dropped.first { return first.verdict }
                }
                guard !flow.isLinkHeld else {
                    if step % 5 == 0 { heldMilliseconds += 1 }
                    continue
                }
                queued += brings / 5
                guard queued > 1 << 20 else { continue }
                let after = Flow.ReadingProgress(queued: queued, taken: taken)
                let verdict = flow.blocked("music", after, isAlone: isAlone, at: now)
                if verdict == .dropStuck || verdict == .dropBehind { return verdict }
            }
            return nil
        }
    }
}
