// Times of a recording whose clock was set, or that started late.

import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import SampleApp
import Testing

@testable import Replays

@Suite("The times of a recording")
struct RecordedClockTests {
    private static func time(_ seconds: Double) -> WallTime {
        WallTime(nanoseconds: 1_795_257_067_000_000_000 + Int64(seconds * 1e9))
    }

    /// The times that a clock which is never set shows instead, in seconds.
    private static func steady(_ seconds: [Double]) -> [Double] {
        var clock = RecordedClock()
        return seconds.map {
            Double(clock.pass(to: time($0)).nanoseconds - time(0).nanoseconds) / 1e9
        }
    }

    @Test("are what they are while the clock goes")
    func goes() {
        #expect(Self.steady([0, 0.5, 0.5, 60, 3660]) == [0, 0.5, 0.5, 60, 3660])
    }

    @Test("go on where the clock was set, forward or back")
    func isSet() {
        let year = 365 * 86_400.0
        #expect(Self.steady([0, 1, year, year + 2]) == [0, 1, 1, 3])
        #expect(Self.steady([0, 1, -year, 2 - year]) == [0, 1, 1, 3])
        var clock = RecordedClock()
        _ = clock.pass(to: WallTime(nanoseconds: .min))
        #expect(clock.pass(to: WallTime(nanoseconds: .max)).nanoseconds == .min)
    }

    @Test("of two directions that are a little out of order do not drift")
    func disorder() {
        #expect(Self.steady([0, 1, 0.9, 1.1, 1, 1.2]) == [0, 1, 1, 1.1, 1.1, 1.2])
    }

    @Test("of before the recording take none")
    func earlier() {
        var clock = RecordedClock()
        #expect(clock.passEarlier(Self.time(0)) == Self.time(0))
        #expect(clock.passEarlier(Self.time(1200)) == Self.time(0))
        #expect(clock.pass(to: Self.time(3000)) == Self.time(0))
        #expect(clock.pass(to: Self.time(3001)) == Self.time(1))
    }

    @Test("the sample app goes through although the clock was set in the middle of the recording")
    func conversation() throws {
        let recorded = try Conversation.recorded()
        var seen = 0
        // Between a request and its answer.
        let items = recorded.recorder.items.map { item -> TapItem in
            guard case .frames(let frames) = item else { return item }
            return .frames(
                frames.map {
                    var frame = $0
                    seen += 1
                    if seen > 4 { frame.time = frame.time.later(by: 365 * 86_400_000_000_000) }
                    return frame
                })
        }
        var unit = ReplayingHeadUnit(try steps(items))
        let replayed = try Conversation.run(&unit)
        #expect(replayed.outcome == .finished, "\(replayed.lines)")
        #expect(replayed.lines == recorded.lines)
    }
}

extension WallTime {
    fileprivate func later(by nanoseconds: Int64) -> WallTime {
        WallTime(nanoseconds: self.nanoseconds + nanoseconds)
    }
}
