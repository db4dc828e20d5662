// What ticks of other programs' clocks are worth.

import Testing

@testable import Traces

@Suite("Clocks of pcapng")
struct PcapngClockTests {
    @Test(
        "every resolution gives nanoseconds",
        arguments: [
            (UInt8(9), UInt64(1_234_567_890), Int64(1_234_567_890)),
            (6, 1_500_000, 1_500_000_000),
            (0, 7, 7_000_000_000),
            (12, 1999, 1),
            (0x80, 3, 3_000_000_000),
            (0x81, 3, 1_500_000_000),
            (0x80 | 63, 1 << 62, 500_000_000),
        ] as [(UInt8, UInt64, Int64)])
    func resolutions(resolution: UInt8, ticks: UInt64, expected: Int64) {
        var clock = PcapngClock()
        clock.resolution = resolution
        #expect(clock.nanoseconds(ticks) == expected)
    }

    @Test("seconds are added")
    func offset() {
        var clock = PcapngClock()
        clock.resolution = 9
        clock.offset = -2
        #expect(clock.nanoseconds(5_000_000_000) == 3_000_000_000)
    }

    @Test(
        "what 64 bits do not hold is no time",
        arguments: [
            (UInt8(6), UInt64.max, Int64(0)), (9, .max, 0), (0, 1 << 40, 0), (20, 1, 0),
            (0x80, .max, 0), (0xFF, 1, 0), (0xC0, 1, 0), (9, 1, .max), (9, 1, .min),
        ] as [(UInt8, UInt64, Int64)])
    func extremes(resolution: UInt8, ticks: UInt64, offset: Int64) {
        var clock = PcapngClock()
        clock.resolution = resolution
        clock.offset = offset
        #expect(clock.nanoseconds(ticks) == nil)
    }
}
