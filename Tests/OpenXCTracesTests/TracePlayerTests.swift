import NIOCore
import OpenXCProtocol
import Testing

@testable import OpenXCTraces

@Suite("Playing an OpenXC trace") struct TracePlayerTests {
    private static let start = NIODeadline.uptimeNanoseconds(5_000_000_000)

    /// The time at which each message is due, in milliseconds from the start, in order.
    private static func play(
        _ times: [Double?], _ change: (inout TracePlayer.Options) -> Void = { _ in }
    ) -> (times: [Int64], notes: [TracePlayer.Note]) {
        var options = TracePlayer.Options()
        change(&options)
        var player = TracePlayer(options)
        let lines = times.enumerated().map { index, time in
            TraceLineReader.Line.message(
                VehicleMessage(.measurement(Measurement("a", .number(1)))), time: time,
                number: index + 1)
        }
        player.feed(lines, isLast: true)
        var now = start
        var due: [Int64] = []
        var notes: [TracePlayer.Note] = []
        for _ in 0..<times.count + 1 {
            let output = player.advance(to: now)
            notes += output.notes
            due += output.messages.map { _ in (now - start).nanoseconds / 1_000_000 }
            guard due.count < times.count, let next = player.nextDeadline else { break }
            now = max(now, next)
        }
        return (due, notes)
    }

    @Test("at the pace of the trace, twice as fast, at a fixed pace, or as fast as it is taken")
    func pace() {
        let times: [Double?] = [100, 100.5, 101.5]
        #expect(Self.play(times).times == [0, 500, 1500])
        #expect(Self.play(times) { $0.pace = .factor(2) }.times == [0, 250, 750])
        #expect(Self.play(times) { $0.pace = .fixed(.milliseconds(20)) }.times == [0, 20, 40])
        #expect(Self.play(times) { $0.pace = .maximum }.times == [0, 0, 0])
        #expect(Self.play(times).notes == [.ended(messages: 3, badLines: 0)])
    }

    @Test("a time that steps back waits not at all, and does not delay what follows")
    func backwards() {
        #expect(Self.play([100, 101, 100.98, 101.5]).times == [0, 1000, 1000, 1500])
        // Another drive in the same file.
        #expect(Self.play([100, 101, 50, 51]).times == [0, 1000, 1000, 2000])
    }

    @Test("a line without a time comes at once, and a long silence is shortened and told")
    func gaps() {
        #expect(Self.play([nil, 100, nil, 101]).times == [0, 0, 0, 1000])
        let long = Self.play([100, 4000])
        #expect(long.times == [0, 10_000])
        #expect(long.notes.first == .gap(seconds: 3900, number: 2))
    }

    @Test("a loop starts again after a second; a file without a message does not")
    func loops() {
        var options = TracePlayer.Options()
        options.loops = true
        var player = TracePlayer(options)
        player.feed(
            [
                .message(
                    VehicleMessage(.measurement(Measurement("a", .number(1)))), time: 1, number: 1)
            ],
            isLast: true)
        #expect(player.advance(to: Self.start).notes == [.ended(messages: 1, badLines: 0)])
        #expect(player.nextDeadline == Self.start + .seconds(1))
        _ = player.advance(to: Self.start + .seconds(1))
        #expect(player.wantsRestart)
        player.restart()
        #expect(player.wantsMore)
        player.feed([.bad(.notJSON, number: 1)], isLast: true)
        #expect(
            player.advance(to: Self.start).notes
                == [.badLine(.notJSON, number: 1), .nothing(badLines: 1)])
        #expect(player.nextDeadline == nil)
    }
}
