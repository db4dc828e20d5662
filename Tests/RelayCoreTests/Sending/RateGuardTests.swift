import NIOCore
import Testing

@testable import RelayCore

@Suite("RateGuard keeps any second below the limit")
struct RateGuardTests {
    @Test("a burst up to the limit passes at once, the rest when the second is over")
    func burst() {
        var guardian = RateGuard(limit: 950)
        let start = NIODeadline.uptimeNanoseconds(5_000_000_000)
        let passed = (0..<2000).count { _ in guardian.allow(at: start) }
        #expect(passed == 950)
        #expect(RateGuard.nextSlot(after: start) == start + .milliseconds(100))
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
