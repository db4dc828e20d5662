import NIOCore
import Testing

@testable import RelayCore

@Suite("FlowControl slows the link for an app, but not for long")
struct FlowControlTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    @Test("the link is held for an app that reads again within the grace")
    func held() {
        var flow = FlowControl<String>(grace: .milliseconds(50))
        flow.blocked("music", at: start)
        #expect(flow.isLinkHeld)
        #expect(flow.nextDeadline == start + .milliseconds(50))
        flow.drained("music")
        #expect(!flow.isLinkHeld)
        #expect(flow.nextDeadline == nil)
    }

    @Test("a stuck app costs the others the grace once")
    func lagging() {
        var flow = FlowControl<String>(grace: .milliseconds(50))
        flow.blocked("music", at: start)
        flow.advance(to: start + .milliseconds(50)) { _ in false }
        #expect(!flow.isLinkHeld)
        flow.blocked("music", at: start + .milliseconds(60))
        #expect(!flow.isLinkHeld, "it has had its grace")
        flow.drained("music")
        flow.blocked("music", at: start + .milliseconds(90))
        #expect(flow.isLinkHeld, "it has read; the next stall is a new one")
    }

    @Test("a lone app may hold the link as long as it makes progress")
    func lone() {
        var flow = FlowControl<String>(grace: .milliseconds(50))
        flow.blocked("music", at: start)
        flow.advance(to: start + .milliseconds(50)) { _ in true }
        #expect(flow.isLinkHeld)
        flow.advance(to: start + .milliseconds(100)) { _ in false }
        #expect(!flow.isLinkHeld)
    }
}

@Suite("RateGuard keeps any second below the limit")
struct RateGuardTests {
    @Test("a burst up to the limit passes at once, the rest when the second is over")
    func burst() {
        var guardian = RateGuard(limit: 950)
        let start = NIODeadline.uptimeNanoseconds(5_000_000_000)
        let passed = (0..<2000).count { _ in guardian.allow(at: start) }
        #expect(passed == 950)
        #expect(guardian.nextSlot(after: start) == start + .milliseconds(100))
        let early = guardian.allow(at: start + .milliseconds(999))
        #expect(!early)
        let later = guardian.allow(at: start + .milliseconds(1100))
        #expect(later)
    }

    @Test("no window of a second ever has more than the limit")
    func anySecond() {
        var guardian = RateGuard(limit: 100)
        var passed: [UInt64] = []
        for millisecond in 0..<5000 {
            let now = NIODeadline.uptimeNanoseconds(UInt64(millisecond) * 1_000_000)
            for _ in 0..<3 where guardian.allow(at: now) {
                passed.append(UInt64(millisecond))
            }
        }
        for first in passed {
            #expect(passed.count { $0 >= first && $0 < first + 1000 } <= 100)
        }
        #expect(passed.count >= 400)
    }

    @Test("0 switches pacing off")
    func off() {
        var guardian = RateGuard(limit: 0)
        let passed = (0..<5000).count { _ in guardian.allow(at: .uptimeNanoseconds(0)) }
        #expect(passed == 5000)
    }
}
