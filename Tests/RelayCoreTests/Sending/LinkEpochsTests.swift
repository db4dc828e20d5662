import NIOCore
import Testing

@testable import RelayCore

@Suite("What is on its way to the head unit counts until a second after it has left")
struct LinkEpochsTests {
    private let start = NIODeadline.uptimeNanoseconds(5_000_000_000)

    /// The pace of session 1, with a limit of 10 and frames of 100 bytes.
    private struct Bench {
        var pacing = SessionPacing(limit: 10)
        var bytes: UInt64 = 0

        mutating func writes(_ frames: Int, at now: NIODeadline) {
            for _ in 0..<frames {
                bytes += 100
                pacing.epochs.wrote(upTo: bytes, at: now)
                _ = pacing.wrote(1, at: now)
            }
        }

        /// What the rate does not count.
        mutating func streams(at now: NIODeadline) {
            bytes += 100
            pacing.epochs.wrote(upTo: bytes, at: now)
        }

        mutating func isFull(at now: NIODeadline) -> Bool {
            _ = pacing.release(at: now)
            return pacing.isFull(1, at: now)
        }
    }

    private func at(_ milliseconds: Int64) -> NIODeadline { start + .milliseconds(milliseconds) }

    @Test("where nobody has to wait, a frame has left when it is written") func plain() {
        var bench = Bench()
        bench.writes(10, at: at(0))
        let verdicts = [0, 900, 1099, 1100].map { bench.isFull(at: at($0)) }
        #expect(verdicts == [true, true, true, false])
    }

    @Test("what a standstill keeps counts from its end on, however long it lasts")
    func standstill() {
        var bench = Bench()
        bench.writes(10, at: at(0))
        for look in 1...50 as ClosedRange<Int64> {
            bench.pacing.epochs.polled(left: 0, at: at(look * 100))
        }
        let before = bench.isFull(at: at(5050))
        bench.pacing.epochs.polled(left: bench.bytes, at: at(5100))
        let verdicts = [5150, 6150, 6200].map { bench.isFull(at: at($0)) }
        #expect(before && verdicts == [true, true, false])
    }

    @Test("what had left before a standstill does not wait for its end") func before() {
        var bench = Bench()
        bench.writes(9, at: at(0))
        let left = bench.bytes
        bench.writes(1, at: at(250))
        for look in 3...20 as ClosedRange<Int64> {
            bench.pacing.epochs.polled(left: left, at: at(look * 100))
        }
        let isFull = bench.isFull(at: at(2050))
        bench.writes(8, at: at(2050))
        let isFullBelow = bench.isFull(at: at(2050))
        bench.writes(1, at: at(2050))
        let isFullAgain = bench.isFull(at: at(2050))
        #expect(!isFull && !isFullBelow && isFullAgain)
    }

    @Test("of more epochs than are told apart, none that has left takes what is written on")
    func manyEpochs() {
        var bench = Bench()
        for look in 0..<10 as Range<Int64> {
            bench.streams(at: at(look * 100))
            bench.pacing.epochs.polled(left: bench.bytes, at: at(look * 100 + 50))
            bench.streams(at: at(look * 100 + 60))
        }
        bench.writes(10, at: at(1030))
        bench.pacing.epochs.polled(left: bench.bytes, at: at(1060))
        let verdicts = [1100, 2000, 2200].map { bench.isFull(at: at($0)) }
        #expect(verdicts == [true, true, false])
    }

    @Test("nor does one of a link that is lost long after it was busy") func lostLaterOn() {
        var bench = Bench()
        for look in 0..<12 as Range<Int64> {
            bench.streams(at: at(look * 100))
            bench.pacing.epochs.polled(left: bench.bytes, at: at(look * 100 + 50))
            bench.streams(at: at(look * 100 + 60))
        }
        bench.pacing.linkClosed(at: at(20_000))
        bench.writes(10, at: at(20_030))
        let verdicts = [20_100, 21_000, 21_200].map { bench.isFull(at: at($0)) }
        #expect(verdicts == [true, true, false])
    }

    @Test("a kernel that is full keeps what is written until it takes all") func full() {
        var bench = Bench()
        bench.pacing.epochs.linkIsFull()
        bench.writes(10, at: at(0))
        let during = bench.isFull(at: at(3000))
        bench.pacing.epochs.linkTookAll(at: at(3000))
        let verdicts = [3050, 4050, 4150].map { bench.isFull(at: at($0)) }
        #expect(during && verdicts == [true, true, false])
    }

    @Test("more slots than are told apart go on as one, and no frame is forgotten") func many() {
        var bench = Bench()
        bench.pacing.epochs.polled(left: 0, at: at(0))
        for slot in 0..<40 as Range<Int64> {
            bench.pacing.epochs.polled(left: 0, at: at(slot * 100))
            bench.writes(1, at: at(slot * 100))
        }
        let isFull = bench.isFull(at: at(9000))
        bench.pacing.epochs.polled(left: bench.bytes, at: at(9000))
        let verdicts = [9000, 10_099, 10_100].map { bench.isFull(at: at($0)) }
        #expect(isFull && verdicts == [true, true, false])
    }

    @Test("the next link begins with nothing on its way") func closed() {
        var bench = Bench()
        bench.writes(10, at: at(0))
        bench.pacing.epochs.polled(left: 0, at: at(100))
        bench.pacing.epochs.linkClosed(at: at(200))
        let verdicts = [250, 1250, 1300].map { bench.isFull(at: at($0)) }
        #expect(verdicts == [true, true, false])
    }
}
