// The flight recorder by itself: the frames it keeps, and when it writes a file.

import ControlAPI
import NIOCore
import RelayTesting
import SDLAdvice
import SDLProtocol
import Testing
import Traces

@testable import RelayCore
@testable import relayd

@Suite("The flight recorder's ring")
struct FlightRingTests {
    private static let app = AppID(rawValue: 1)

    private static func batch(_ numbers: ClosedRange<UInt32>, bytes: Int) -> TapItem {
        var batch = TapBatch(.everything)
        for number in numbers {
            batch.append(
                TappedFrame(
                    frame: .data(session: 1, message: number, bytes: bytes), direction: .fromApp,
                    app: app, time: WallTime(nanoseconds: Int64(number))))
        }
        return .frames(TapView(batch, .everything).frames)
    }

    private static func messages(_ contents: FlightRing.Contents) -> [UInt32] {
        contents.items.flatMap { item -> [UInt32] in
            if case .frames(let frames) = item { frames.compactMap(\.frame.messageID) } else { [] }
        }
    }

    @Test(
        "it keeps the latest without a gap, and never more than it may",
        arguments: [(1, 12), (1, 400), (100, 100), (50, 20_000), (1, 100_000)])
    func keepsLatest(frames: UInt32, bytes: Int) {
        let maximum = 4 << 20
        var ring = FlightRing(maximumBytes: maximum)
        var number: UInt32 = 1
        while number < 40_000, Int(number) * bytes < 4 * maximum {
            ring.append(Self.batch(number...(number + frames - 1), bytes: bytes))
            number += frames
            #expect(ring.occupiedBytes <= maximum)
        }
        let kept = Self.messages(ring.contents(at: .now()))
        #expect(kept.last == number - 1)
        #expect(kept == Array((number - UInt32(kept.count))..<number))
        #expect(ring.frames == kept.count)
        #expect(ring.began == kept.first.map { WallTime(nanoseconds: Int64($0)) })
        // Most of the room holds frames, which is its purpose.
        if bytes >= 400 { #expect(ring.occupiedBytes > maximum / 2) }
    }

    @Test("what was there before begins it, and what is still kept is not told twice")
    func prologue() {
        var ring = FlightRing(maximumBytes: 1 << 20)
        let time = WallTime(nanoseconds: 0)
        ring.append(.linkOpened(number: 1, address: "sim:", time: time))
        ring.append(.appConnected(Self.app, peer: "127.0.0.1:1", time: time))
        #expect(ring.contents(at: .now()).prologue.isEmpty)
        for number in 1...40 as ClosedRange<UInt32> {
            ring.append(Self.batch(number...number, bytes: 100_000))
        }
        let contents = ring.contents(at: .now())
        #expect(contents.prologue.count == 2)
        #expect(!contents.items.contains { if case .linkOpened = $0 { true } else { false } })
    }

    @Test("a gap is kept and counted like frames")
    func gaps() {
        var ring = FlightRing(maximumBytes: 1 << 20)
        ring.append(Self.batch(1...1, bytes: 10))
        ring.append(.missed(frames: 17, bytes: 1000))
        #expect(ring.missedFrames == 17 && ring.frames == 1)
        for number in 2...40 as ClosedRange<UInt32> {
            ring.append(Self.batch(number...number, bytes: 100_000))
        }
        #expect(ring.missedFrames == 0)
    }

    @Test("of a batch with RPCs and video the memory of both counts", arguments: [true, false])
    func mixed(isVideoFirst: Bool) {
        var batch = TapBatch(.everything)
        let video = Frame.data(session: 1, service: .video, bytes: 200_000)
        let frames = [Frame.data(session: 1, bytes: 100_000), video]
        for frame in isVideoFirst ? frames.reversed() : frames {
            batch.append(
                TappedFrame(
                    frame: frame, direction: .fromApp, app: Self.app,
                    time: WallTime(nanoseconds: 1)))
        }
        func occupied(_ payload: TapPayload) -> Int {
            var ring = FlightRing(maximumBytes: 4 << 20)
            ring.append(.frames(TapView(batch, payload).frames))
            return ring.occupiedBytes
        }
        #expect(occupied(.everything) > 300_000)
        #expect((100_000..<200_000) ~= occupied(.exceptStreams), "without video, no memory of it")
    }

    @Test("a file of it is a whole trace: who is there, what they said, why it was written")
    func file() async throws {
        try await TemporaryDirectory.run { directory in
            var ring = FlightRing(maximumBytes: 1 << 20)
            let time = WallTime(nanoseconds: 0)
            ring.append(.linkOpened(number: 1, address: "sim:", time: time))
            ring.append(.appConnected(Self.app, peer: "127.0.0.1:1", time: time))
            for number in 1...40 as ClosedRange<UInt32> {
                ring.append(Self.batch(number...number, bytes: 100_000))
            }
            let folder = RecordingFolder(directory.path)
            let new = try folder.create("flight.pcapng")
            var file = FlightFile(
                new, TraceHeader(program: "relayd", accessory: "sim:", started: ""))
            let contents = ring.contents(at: .now())
            let sum = try await file.write(
                contents, started: "2026-11-24T10:00:00Z", because: "saved: here")
            var trace = try TraceFile(new.path)
            var records: [TraceRecord] = []
            var messages: [UInt32] = []
            while let entry = try trace.next() {
                switch entry.content {
                case .record(let record): records.append(record)
                case .frame(let tapped, _, _): messages.append(tapped.frame.messageID ?? 0)
                case .bytes: Issue.record("bytes")
                }
            }
            #expect(messages == Self.messages(contents) && sum.frames == messages.count)
            #expect(records.count == 4)
            #expect(records[1] == .linkOpened(number: 1, address: "sim:"))
            #expect(records[2] == .appConnected(Self.app, peer: "127.0.0.1:1"))
            guard case .end(let end) = records[3] else { throw Unended() }
            #expect(end.reason == "saved: here" && end.frames == messages.count)
        }
    }

    private struct Unended: Error {}
}

@Suite("When the flight recorder writes a file by itself")
struct SaveScheduleTests {
    private let start = ContinuousClock.now

    private func at(_ seconds: Int) -> ContinuousClock.Instant {
        start.advanced(by: .seconds(seconds))
    }

    private func cause(_ words: String, _ trigger: SaveTrigger = .appCrash) -> SaveSchedule.Cause {
        .init(trigger: trigger, words: words)
    }

    @Test("a second after something has happened; what happens meanwhile is in the same file")
    func together() {
        var schedule = SaveSchedule()
        #expect(schedule.trigger(cause("radio crashed"), at: at(0)) == at(1))
        #expect(schedule.trigger(cause("link lost", .linkLost), at: at(0)) == nil)
        let taken = schedule.take(at: at(1))
        #expect(taken.causes.map(\.words) == ["radio crashed", "link lost"] && taken.others == 0)
        #expect(schedule.take(at: at(2)).causes.isEmpty)
    }

    @Test("an app that crashes in a loop has one file written in ten seconds, and no crash is lost")
    func loop() {
        var schedule = SaveSchedule()
        var due = schedule.trigger(cause("0"), at: at(0))
        var told = 0
        var files: [ContinuousClock.Instant] = []
        for second in 1...60 {
            if let moment = due, moment <= at(second) {
                let taken = schedule.take(at: at(second))
                told += taken.causes.count + taken.others
                files.append(at(second))
                due = nil
            }
            due = schedule.trigger(cause("\(second)"), at: at(second)) ?? due
        }
        #expect(files.count == 6)
        #expect(zip(files, files.dropFirst()).allSatisfy { $0.duration(to: $1) >= .seconds(10) })
        let rest = schedule.take(at: at(100))
        #expect(told + rest.causes.count + rest.others == 61)
    }

    @Test("of many causes the first are told, and how many more there were")
    func many() {
        var schedule = SaveSchedule()
        for number in 1...50 { _ = schedule.trigger(cause("\(number)"), at: at(0)) }
        let taken = schedule.take(at: at(1))
        #expect(taken.causes.count == 8 && taken.others == 42)
    }

    @Test("the words of record.save_on stand for something, and others for nothing")
    func words() {
        for word in SaveTrigger.words { #expect(SaveTrigger(rawValue: word)?.rawValue == word) }
        #expect(SaveTrigger.words.count == 2 + AdviceCode.allCases.count)
        for word in ["", "advice:", "advice", "app", "advice:App_stalled", "app_crash "] {
            #expect(SaveTrigger(rawValue: word) == nil)
        }
        #expect(SaveTrigger.nearest("app_crsh") == "app_crash")
    }

    @Test("save_on without last, and a last that keeps nothing, are refused with what to do")
    func contradictions() {
        var config = Config()
        config.record.saveOn = [.linkLost]
        #expect(
            ConfigSchema.contradictions(in: config).map(\.text) == [
                "link_lost would save nothing, because record.last is 0; set record.last to the amount "
                    + "of memory to use, such as 64 MiB"
            ])
        config.record.last = 1 << 20
        #expect(
            ConfigSchema.contradictions(in: config).map(\.text) == [
                "1 MiB keep next to nothing; expected 0 or at least 4 MiB"
            ])
        config.record.last = 4 << 20
        #expect(ConfigSchema.contradictions(in: config).isEmpty)
    }
}
