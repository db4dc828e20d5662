import NIOCore
import RelayTesting
import SDLProtocol
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

        /// Sends a stream, which the rate does not count.
        mutating func streams(at now: NIODeadline) {
            bytes += 100
            pacing.epochs.wrote(upTo: bytes, at: now)
        }

        /// - Returns: Whether the session is still full.
        mutating func release(at now: NIODeadline) -> Bool {
            _ = pacing.release(at: now)
            return pacing.isFull(1, at: now)
        }
    }

    private func at(_ milliseconds: Int64) -> NIODeadline { start + .milliseconds(milliseconds) }

    @Test("where nobody has to wait, a frame has left when it is written") func plain() {
        var bench = Bench()
        bench.writes(10, at: at(0))
        let verdicts = [0, 900, 1099, 1100].map { bench.release(at: at($0)) }
        #expect(verdicts == [true, true, true, false])
    }

    @Test("what a standstill keeps counts from its end on, however long it lasts")
    func standstill() {
        var bench = Bench()
        bench.writes(10, at: at(0))
        for look in 1...50 as ClosedRange<Int64> {
            bench.pacing.epochs.polled(left: 0, at: at(look * 100))
        }
        let before = bench.release(at: at(5050))
        bench.pacing.epochs.polled(left: bench.bytes, at: at(5100))
        let verdicts = [5150, 6150, 6200].map { bench.release(at: at($0)) }
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
        let isFull = bench.release(at: at(2050))
        bench.writes(8, at: at(2050))
        let isFullBelow = bench.release(at: at(2050))
        bench.writes(1, at: at(2050))
        let isFullAgain = bench.release(at: at(2050))
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
        let verdicts = [1100, 2000, 2200].map { bench.release(at: at($0)) }
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
        let verdicts = [20_100, 21_000, 21_200].map { bench.release(at: at($0)) }
        #expect(verdicts == [true, true, false])
    }

    @Test("a kernel that is full keeps what is written until it takes all") func full() {
        var bench = Bench()
        bench.pacing.epochs.linkIsFull()
        bench.writes(10, at: at(0))
        let during = bench.release(at: at(3000))
        bench.pacing.epochs.linkTookAll(at: at(3000))
        let verdicts = [3050, 4050, 4150].map { bench.release(at: at($0)) }
        #expect(during && verdicts == [true, true, false])
    }

    @Test(
        "a link that fills and empties many times in a second holds nobody longer",
        arguments: [0, 300, 800])
    func fillsOften(said: Int64) {
        var bench = Bench()
        var isFree: [Int64] = []
        for moment in stride(from: 0, to: 3000, by: 20) as StrideTo<Int64> {
            bench.streams(at: at(moment))
            if moment == said { bench.writes(10, at: at(moment)) }
            bench.pacing.epochs.linkIsFull()
            bench.pacing.epochs.linkTookAll(at: at(moment + 10))
            if moment > said, !bench.release(at: at(moment + 10)) {
                isFree.append(moment + 10 - said)
            }
        }
        #expect(isFree.first == 1110)
    }

    @Test(
        "whatever the link does, no second has more than the limit, and nobody is held for ever",
        arguments: 0..<UInt64(Effort.rounds(200, orQuickly: 60)))
    func anySecond(seed: UInt64) {
        var story = LinkStory(seed: seed)
        for _ in 0..<400 { story.goesOn() }
        story.ends()
        #expect(!story.isTooFast, "seed \(seed)")
        let isHeld = story.isHeld
        #expect(!isHeld, "seed \(seed)")
    }

    @Test("more slots than are told apart go on as one, and no frame is forgotten") func many() {
        var bench = Bench()
        bench.pacing.epochs.polled(left: 0, at: at(0))
        for slot in 0..<40 as Range<Int64> {
            bench.pacing.epochs.polled(left: 0, at: at(slot * 100))
            bench.writes(1, at: at(slot * 100))
        }
        let isFull = bench.release(at: at(9000))
        bench.pacing.epochs.polled(left: bench.bytes, at: at(9000))
        let verdicts = [9000, 10_099, 10_100].map { bench.release(at: at($0)) }
        #expect(isFull && verdicts == [true, true, false])
    }

    @Test("the next link begins with nothing on its way") func closed() {
        var bench = Bench()
        bench.writes(10, at: at(0))
        bench.pacing.epochs.polled(left: 0, at: at(100))
        bench.pacing.epochs.linkClosed(at: at(200))
        let verdicts = [250, 1250, 1300].map { bench.release(at: at($0)) }
        #expect(verdicts == [true, true, false])
    }
}

/// A session that says as much as it may, on a link that takes bytes at random times.
private struct LinkStory {
    private static let limit = 10

    private var chance: SeededGenerator
    private var pacing = SessionPacing(limit: limit)
    /// The time in milliseconds.
    private var now: Int64
    /// Bytes that were written, and those of them that have left for the head unit.
    private var written: UInt64 = 0
    private var left: UInt64 = 0
    /// Ends of the session's frames that have not left, and when they were written.
    private var waiting: [(end: UInt64, at: Int64)] = []
    private var leftAt: [Int64] = []
    private var lookedAt: Int64
    private var isFull = false
    private var isWatched = false
    private let steps: [Int64]
    private let frames: Int

    init(seed: UInt64) {
        chance = SeededGenerator(seed: seed)
        now = 5000 + Int64.random(in: 0..<100, using: &chance)
        lookedAt = now
        let paces: [[Int64]] = [
            [0, 1, 3, 10, 30, 60, 100, 250], [0, 1, 5, 20], [10, 30, 40], [25, 60],
        ]
        steps = paces[Int(seed % 4)]
        frames = [1, 2, 5, 12][Int(seed / 4 % 4)]
    }

    private var moment: NIODeadline { .uptimeNanoseconds(UInt64(now) * 1_000_000) }

    mutating func goesOn() {
        let isLong = Int.random(in: 0..<100, using: &chance) == 0
        pass(
            isLong
                ? Int64.random(in: 1000...12_000, using: &chance)
                : steps.randomElement(using: &chance) ?? 1)
        switch Int.random(in: 0..<20, using: &chance) {
        case 0..<9: says()
        case 9..<12: write()
        case 12..<15: fills()
        case 15..<18: takesAll()
        case 18: look()
        default: if Int.random(in: 0..<20, using: &chance) == 0 { closes() }
        }
    }

    /// Lets everything leave, and a while pass in silence.
    mutating func ends() {
        takesAll()
        leave(upTo: written)
        if isWatched { pacing.epochs.polled(left: left, at: moment) }
        for _ in 0..<16 { pass(100) }
    }

    var isHeld: Bool { mutating get { pacing.isFull(1, at: moment) } }

    /// Whether any second, wherever it begins, has more frames than the limit.
    var isTooFast: Bool {
        let times = leftAt.sorted()
        return zip(times, times.dropFirst(Self.limit)).contains { $1 - $0 < 1000 }
    }

    // MARK: - What happens

    /// Lets time go on; while the link is watched, it is looked at in every slot.
    private mutating func pass(_ milliseconds: Int64) {
        let end = now + milliseconds
        while isWatched, now / 100 * 100 + 100 <= end {
            now = now / 100 * 100 + 100
            look()
        }
        now = end
        _ = pacing.release(at: moment)
    }

    private mutating func says() {
        for _ in 0..<frames where !isHeld {
            write()
            let isHeld = pacing.wrote(1, at: moment)
            if left == written { leftAt.append(now) } else { waiting.append((written, now)) }
            if isHeld, !isWatched { beginToWatch() }
        }
    }

    /// Writes a frame. Nothing holds back frames that the rate does not count.
    private mutating func write() {
        written += 100
        pacing.epochs.wrote(upTo: written, at: moment)
        if !isFull, !isWatched { left = written }
    }

    private mutating func fills() {
        guard !isFull else { return }
        if !isWatched { lookedAt = now }
        isFull = true
        pacing.epochs.linkIsFull()
    }

    private mutating func takesAll() {
        guard isFull else { return }
        isFull = false
        if !isWatched { leave(upTo: written) }
        let moment = moment
        pacing.epochs.linkTookAll(at: moment)
    }

    /// Begins to watch, as the hub does in the slot after the one in which a session was held.
    private mutating func beginToWatch() {
        lookedAt = now
        now = now / 100 * 100 + 100
        isWatched = true
        look()
    }

    private mutating func look() {
        guard isWatched else { return }
        leave(upTo: left + UInt64.random(in: 0...(written - left) / 100, using: &chance) * 100)
        pacing.epochs.polled(left: left, at: moment)
        _ = pacing.release(at: moment)
        guard pacing.held.isEmpty, left == written, Bool.random(using: &chance) else { return }
        isWatched = false
        pacing.epochs.stopWatching(at: moment)
    }

    private mutating func closes() {
        leave(upTo: written)
        (isFull, isWatched) = (false, false)
        pacing.linkClosed(at: moment)
    }

    /// Lets frames leave at random times since the last look.
    private mutating func leave(upTo bytes: UInt64) {
        left = bytes
        var earliest = lookedAt
        while let first = waiting.first, first.end <= bytes {
            waiting.removeFirst()
            earliest = Int64.random(in: min(max(earliest, first.at), now)...now, using: &chance)
            leftAt.append(earliest)
        }
        lookedAt = now
    }
}
