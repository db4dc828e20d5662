import Testing

@testable import SDLTraffic

@Suite struct LatencyQuantilesTests {
    /// SplitMix64: the same numbers in every run.
    struct Numbers: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }

        mutating func time(from least: Int64, to most: Int64) -> Int64 {
            Int64.random(in: least...most, using: &self)
        }

        /// A number of any magnitude below two to the power of `bits`.
        mutating func time(ofBits bits: Int) -> Int64 {
            let width = Int.random(in: 0..<bits, using: &self)
            let end: Int64 = 1 << Int64(width)
            return time(from: 0, to: end)
        }
    }

    /// Kinds of times, in nanoseconds, as head units, people and worse produce them.
    enum Shape: CaseIterable {
        case ofAnyMagnitude, fewMilliseconds, allAlike, fastButForPeople, belowMicroseconds

        func time(_ numbers: inout Numbers) -> Int64 {
            switch self {
            case .ofAnyMagnitude: return numbers.time(ofBits: 40)
            case .fewMilliseconds: return numbers.time(from: 500_000, to: 12_000_000)
            case .allAlike: return 3_000_000_001
            case .fastButForPeople:
                let isForPeople = numbers.time(from: 0, to: 19) == 0
                return isForPeople
                    ? numbers.time(from: 1_000_000_000, to: 10_000_000_000)
                    : numbers.time(from: 200_000, to: 900_000)
            case .belowMicroseconds: return numbers.time(from: 0, to: 2000)
            }
        }
    }

    @Test(
        "a quantile is the one of the sorted times, within the error that is stated",
        arguments: Shape.allCases)
    func truth(shape: Shape) {
        var numbers = Numbers(state: 1)
        for count in [1, 2, 3, 10, 99, 100, 101, 1000, 5000] {
            var quantiles = LatencyQuantiles()
            var times: [Int64] = []
            for _ in 0..<count { times.append(shape.time(&numbers)) }
            for time in times { quantiles.add(time) }
            let sorted = times.sorted()
            for percent in [0, 1, 25, 50, 75, 95, 99, 100] {
                // The nearest rank, as in the documentation of `quantile`.
                let rank = max(1, (count * percent + 99) / 100)
                let truth = sorted[rank - 1]
                let told = quantiles.quantile(percent: UInt64(percent)) ?? -1
                let error = abs(told - truth)
                #expect(
                    error <= max(truth / 32 + 1, 512),
                    "\(shape): p\(percent) of \(count) is \(truth), not \(told)")
                #expect(told >= sorted[0] && told <= sorted[count - 1])
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
        for time: Int64 in [.min, -1, 0, 1] { quantiles.add(time) }
        #expect(quantiles.quantile(percent: 100) == 1)
        let end: Int64 = 1 << 40
        for time: Int64 in [end - 1, end, end * 2, .max] { quantiles.add(time) }
        #expect(quantiles.quantile(percent: 99) == .max)
        let fifth = quantiles.quantile(percent: 60) ?? 0
        #expect(fifth >= end - end / 32 && fifth < end)
        #expect(quantiles.count == 8)
    }

    @Test("memory does not grow with the answers, and little of it is for ranges that are not used")
    func memory() {
        var numbers = Numbers(state: 7)
        var usual = LatencyQuantiles()
        var worst = LatencyQuantiles()
        for _ in 0..<100_000 {
            usual.add(numbers.time(from: 2_000_000, to: 12_000_000))
            worst.add(numbers.time(ofBits: 63))
        }
        #expect(usual.rangesKept <= 64)
        #expect(worst.rangesKept <= LatencyQuantiles.maximumRanges)
        #expect(LatencyQuantiles.maximumRanges == 433)
    }
}
