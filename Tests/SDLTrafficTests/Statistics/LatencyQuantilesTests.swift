import Testing

@testable import SDLTraffic

@Suite struct LatencyQuantilesTests {
    /// SplitMix64: the same numbers in every run.
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }

    /// Times as head units, people and worse make them, in nanoseconds.
    private static let shapes: [(name: String, time: @Sendable (inout Numbers) -> Int64)] = [
        (
            "any number of bits",
            { Int64.random(in: 0...(1 << Int64.random(in: 0...39, using: &$0)), using: &$0) }
        ),
        ("a few milliseconds", { Int64.random(in: 500_000...12_000_000, using: &$0) }),
        ("all alike", { _ in 3_000_000_001 }),
        (
            "mostly fast, some wait for a person",
            {
                Int.random(in: 0..<20, using: &$0) == 0
                    ? Int64.random(in: 1_000_000_000...10_000_000_000, using: &$0)
                    : Int64.random(in: 200_000...900_000, using: &$0)
            }
        ),
        ("below a microsecond", { Int64.random(in: 0...2000, using: &$0) }),
    ]

    @Test(
        "a quantile is the one of the sorted times, within the error that is stated",
        arguments: 0..<5)
    func truth(shape: Int) {
        var numbers = Numbers(state: UInt64(shape))
        for count in [1, 2, 3, 10, 99, 100, 101, 1000, 5000] {
            var quantiles = LatencyQuantiles()
            let times = (0..<count).map { _ in Self.shapes[shape].time(&numbers) }
            for time in times { quantiles.add(time) }
            let sorted = times.sorted()
            for percent in [0, 1, 25, 50, 75, 95, 99, 100] {
                // The nearest rank, as in the documentation of `quantile`.
                let rank = max(1, (count * percent + 99) / 100)
                let truth = sorted[rank - 1]
                let told = quantiles.quantile(percent: UInt64(percent)) ?? -1
                #expect(
                    abs(told - truth) <= max(truth / 32 + 1, 512),
                    "\(Self.shapes[shape].name): p\(percent) of \(count) is \(truth), not \(told)")
                #expect((sorted[0]...sorted[count - 1]).contains(told))
            }
            #expect(quantiles.count == UInt64(count) && quantiles.maximum == sorted[count - 1])
        }
    }

    @Test("without answers there is none; of one it is that one, to the nanosecond")
    func few() {
        var quantiles = LatencyQuantiles()
        #expect(quantiles.quantile(percent: 50) == nil)
        quantiles.add(4_321_987)
        for percent: UInt64 in [0, 50, 95, 99, 100, 1000] {
            #expect(quantiles.quantile(percent: percent) == 4_321_987)
        }
    }

    @Test("every time has a range; what is longer than the last one starts is told as the longest")
    func ends() {
        var quantiles = LatencyQuantiles()
        for time in [Int64.min, -1, 0, 1] { quantiles.add(time) }
        #expect(quantiles.quantile(percent: 100) == 1)
        for time in [(1 << 40) - 1, 1 << 40, 1 << 41, Int64.max] { quantiles.add(time) }
        #expect(quantiles.quantile(percent: 99) == .max)
        #expect((quantiles.quantile(percent: 60) ?? 0) >= (1 << 40) - (1 << 35))
        #expect(quantiles.count == 8)
    }

    @Test("memory does not grow with the answers, and little of it is for ranges that are not used")
    func memory() {
        var numbers = Numbers(state: 7)
        var usual = LatencyQuantiles()
        var worst = LatencyQuantiles()
        for _ in 0..<100_000 {
            usual.add(Int64.random(in: 2_000_000...12_000_000, using: &numbers))
            worst.add(
                Int64.random(
                    in: 0...(1 << Int64.random(in: 0...62, using: &numbers)), using: &numbers))
        }
        #expect(usual.rangesKept <= 64)
        #expect(worst.rangesKept <= LatencyQuantiles.maximumRanges)
        #expect(LatencyQuantiles.maximumRanges == 433)
    }
}
