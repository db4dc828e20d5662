import Testing

@testable import RelayCore

// When the hits of a limit belong together, so that status can say for how long something was so.

@Suite("Hits of a limit")
struct LimitHitsTests {
    @Test("hits at most ten seconds apart are one matter; later ones begin another")
    func belongTogether() {
        var hits = LimitHits()
        for second in [100, 101, 111] as [Int64] { hits.add(at: Self.time(second)) }
        #expect(hits.beganAt == Self.time(100))
        #expect(hits.lastAt == Self.time(111))
        hits.add(at: Self.time(122))
        #expect(hits.beganAt == Self.time(122))
        #expect(hits.count == 4)
    }

    @Test("a clock that was set back begins anew, and no clock is too far away")
    func clockSet() {
        var hits = LimitHits()
        hits.add(at: Self.time(100))
        hits.add(at: Self.time(40))
        #expect(hits.beganAt == Self.time(40))
        hits.add(at: WallTime(nanoseconds: .min))
        hits.add(at: WallTime(nanoseconds: .max))
        #expect(hits.beganAt == WallTime(nanoseconds: .max))
    }

    private static func time(_ seconds: Int64) -> WallTime {
        WallTime(nanoseconds: seconds * 1_000_000_000)
    }
}
