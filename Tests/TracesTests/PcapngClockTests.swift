// The meaning of clock ticks from other programs.

import Testing

@testable import Traces

@Suite("Clocks of pcapng")
struct PcapngClockTests {
    @Test(
        "every resolution gives nanoseconds",
        arguments: [
            Tick(9, 1_234_567_890, is: 1_234_567_890), Tick(6, 1_500_000, is: 1_500_000_000),
            Tick(0, 7, is: 7_000_000_000), Tick(12, 1999, is: 1),
            Tick(0x80, 3, is: 3_000_000_000), Tick(0x81, 3, is: 1_500_000_000),
            Tick(0x80 | 63, 1 << 62, is: 500_000_000),
            Tick(9, 5_000_000_000, -2, is: 3_000_000_000),
            // A time that does not fit in 64 bits is no time.
            Tick(6, .max, is: nil), Tick(9, .max, is: nil), Tick(0, 1 << 40, is: nil),
            Tick(20, 1, is: nil), Tick(0x80, .max, is: nil), Tick(0xFF, 1, is: nil),
            Tick(0xC0, 1, is: nil), Tick(9, 1, .max, is: nil), Tick(9, 1, .min, is: nil),
        ])
    func resolutions(tick: Tick) {
        var clock = PcapngClock()
        clock.resolution = tick.resolution
        clock.offset = tick.offset
        #expect(clock.nanoseconds(tick.ticks) == tick.expected)
    }

    struct Tick: Sendable {
        var resolution: UInt8
        var ticks: UInt64
        var offset: Int64
        var expected: Int64?

        init(_ resolution: UInt8, _ ticks: UInt64, _ offset: Int64 = 0, is expected: Int64?) {
            self.resolution = resolution
            self.ticks = ticks
            self.offset = offset
            self.expected = expected
        }
    }
}
