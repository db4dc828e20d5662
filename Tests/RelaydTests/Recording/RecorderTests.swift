// Recordings that start and stop while the disk hangs, while the configuration changes, and while relayd stops.

import ControlAPI
import Dispatch
import Logging
import NIOCore
import NIOPosix
import RelayTesting
import Testing
import Traces

@testable import RelayCore
@testable import relayd

@Suite("The recorder")
struct RecorderTests {
    /// A policy with the flight recorder on.
    private static let keepsLatest = {
        var policy = RecordingPolicy()
        policy.lastBytes = 4 << 20
        policy.saveOn = [.appCrash]
        return policy
    }()

    @Test("what waits for the disk waits on a thread of its own, and whoever asked with it")
    func start() async throws {
        try await RecorderBench.run { bench in
            let disk = bench.diskHangs()
            // The task has reached its first wait when this returns.
            let started = Task.immediate { try await bench.recorder.start("slow") }
            #expect(bench.files.isEmpty && bench.recorder.report.recording == nil)
            disk.signal()
            let name = try #require(try await started.value.recording?.name)
            #expect(name.hasSuffix("-slow") && bench.files == [name + ".pcapng"])
            _ = try await bench.recorder.stop()
        }
    }

    @Test("a mark is refused while the last frames are written: it would be in no file")
    func markAtTheEnd() async throws {
        try await RecorderBench.run { bench in
            _ = try await bench.recorder.start(nil)
            #expect(try await bench.recorder.mark("before").summary == "marked: before")
            let disk = bench.diskHangs()
            let stopped = Task.immediate { try await bench.recorder.stop() }
            let error = await #expect(throws: APIError.self) {
                try await bench.recorder.mark("too late")
            }
            #expect(error?.error.code == .conflict)
            disk.signal()
            _ = try await stopped.value
        }
    }

    @Test("one that waits for the disk can be stopped, and ends as soon as it has begun")
    func stoppedBeforehand() async throws {
        try await RecorderBench.run { bench in
            let disk = bench.diskHangs()
            let started = Task.immediate { try await bench.recorder.start(nil) }
            let second = try await #require(throws: APIError.self) {
                try await bench.recorder.start(nil)
            }
            #expect(second.error.message.hasPrefix("a recording is just beginning"))
            _ = try await bench.recorder.stop()
            disk.signal()
            try await bench.until { bench.recorder.report.latest != nil }
            #expect(bench.recorder.report.recording == nil)
            #expect(try bench.reasons() == ["stopped"])
            let error = try await #require(throws: APIError.self) { try await started.value }
            #expect(error.error.message.hasSuffix(": stopped"))
        }
    }

    @Test("one of record.always that is stopped while it waits for the disk does not begin anew")
    func alwaysStoppedBeforehand() async throws {
        try await RecorderBench.run(beginPatience: .zero) { bench in
            let disk = bench.diskHangs()
            await bench.apply(isAlways: true)
            _ = try await bench.recorder.stop()
            #expect(bench.recorder.problem == nil)
            disk.signal()
            try await bench.until { bench.recorder.report.latest != nil }
            #expect(bench.recorder.report.recording == nil)
            #expect(try bench.reasons() == ["stopped"])
            _ = try await bench.recorder.start("own")
        }
    }

    @Test("no start or reload of relayd waits long for record.always, and the reason is shown")
    func alwaysBesideDisk() async throws {
        try await RecorderBench.run(beginPatience: .zero) { bench in
            let disk = bench.diskHangs()
            await bench.apply(isAlways: true)
            let words = "the disk of \(bench.policy.folder ?? "") has accepted no data for "
            #expect(bench.files.isEmpty && bench.recorder.problem?.hasPrefix(words) == true)
            #expect(bench.log.records.contains { $0.message.hasPrefix("record.always: \(words)") })
            await bench.apply(isAlways: true)
            disk.signal()
            try await bench.until { bench.recorder.report.recording != nil }
            #expect(bench.recorder.problem == nil && bench.files.count == 1)
        }
    }

    @Test("one that a reload turns off while it begins ends when it has begun")
    func turnedOffMeanwhile() async throws {
        try await RecorderBench.run(beginPatience: .zero) { bench in
            let disk = bench.diskHangs()
            await bench.apply(isAlways: true)
            await bench.apply(isAlways: false)
            #expect(bench.recorder.problem == nil)
            disk.signal()
            try await bench.until { bench.recorder.report.latest != nil }
            #expect(bench.recorder.report.recording == nil)
            #expect(try bench.reasons() == ["record.always is false"])
        }
    }

    @Test("a reload to another folder while it begins has it begin there")
    func movedMeanwhile() async throws {
        try await RecorderBench.run(beginPatience: .zero) { bench in
            let disk = bench.diskHangs()
            await bench.apply(isAlways: true)
            let folder = "\(bench.policy.folder ?? "")/other"
            var policy = bench.policy
            policy.folder = folder
            await bench.recorder.apply(policy, isAlways: true)
            disk.signal()
            try await bench.until {
                bench.recorder.report.recording?.file.hasPrefix(folder) == true
            }
            #expect(try bench.reasons() == ["a reload has changed record"])
            #expect(bench.recorder.problem == nil)
        }
    }

    @Test("turned off and on again while its last frames are written, it begins anew")
    func offAndOn() async throws {
        try await RecorderBench.run { bench in
            await bench.apply(isAlways: true)
            let first = try #require(bench.recorder.report.recording?.file)
            let disk = bench.diskHangs()
            await bench.apply(isAlways: false)
            await bench.apply(isAlways: true)
            #expect(bench.recorder.report.recording?.file == first)
            disk.signal()
            try await bench.until { bench.records(besides: first) }
        }
    }

    @Test("turned on while somebody records, it begins when that is over, and not twice")
    func onMeanwhile() async throws {
        try await RecorderBench.run { bench in
            let first = try #require(try await bench.recorder.start(nil).recording?.file)
            await bench.apply(isAlways: true)
            await bench.apply(isAlways: true)
            _ = try await bench.recorder.stop()
            try await bench.until { bench.records(besides: first) }
            // This recording was stopped on request.
            _ = try await bench.recorder.stop()
            _ = try await bench.recorder.start("own")
        }
    }

    @Test("turned on while somebody records and off again, it does not begin")
    func onAndOff() async throws {
        try await RecorderBench.run { bench in
            _ = try await bench.recorder.start(nil)
            await bench.apply(isAlways: true)
            await bench.apply(isAlways: false)
            _ = try await bench.recorder.stop()
            _ = try await bench.recorder.start("own")
        }
    }

    @Test("a try that finds somebody's recording is made up for when that is over")
    func othersMeanwhile() async throws {
        try await RecorderBench.run { bench in
            await bench.apply(isAlways: true)
            _ = try await bench.recorder.stop()
            let first = try #require(try await bench.recorder.start(nil).recording?.file)
            // Ends the pause after a failure.
            bench.recorder.tryAgain()
            _ = try await bench.recorder.stop()
            try await bench.until { bench.records(besides: first) }
        }
    }

    @Test("one that begins while relayd stops is a whole trace")
    func stoppedMeanwhile() async throws {
        try await RecorderBench.run { bench in
            let disk = bench.diskHangs()
            let started = Task.immediate { try await bench.recorder.start(nil) }
            await bench.relay.shutDown()
            let finished = Task.immediate { await bench.recorder.finish() }
            disk.signal()
            await finished.value
            #expect(try bench.reasons() == ["relayd stopped"])
            _ = try await started.value
        }
    }

    @Test("one whose disk hangs while it begins does not keep relayd from stopping")
    func stopsBesideBeginning() async throws {
        try await RecorderBench.run(savePatience: .zero) { bench in
            let disk = bench.diskHangs()
            let started = Task.immediate { try await bench.recorder.start(nil) }
            await bench.relay.shutDown()
            await bench.recorder.finish()
            let words = "relayd stops without the recording"
            #expect(bench.log.records.contains { $0.message.hasPrefix(words) })
            disk.signal()
            _ = try await started.value
        }
    }

    @Test("a stop begins no recording of record.always after the one that it ends")
    func nothingAfterTheEnd() async throws {
        try await RecorderBench.run { bench in
            _ = try await bench.recorder.start(nil)
            await bench.apply(isAlways: true)
            bench.recorder.willFinish()
            await bench.relay.shutDown()
            try await bench.until {
                bench.log.records.contains { $0.message.hasPrefix("recorded ") }
            }
            // A recording to follow would have been requested by the time this has run.
            try await bench.recorder.loop().loop.submit {}.get()
            await bench.recorder.finish()
            #expect(bench.files.count == 1)
        }
    }

    @Test("a file being saved when relayd stops is whole, and what happened since is in another")
    func saves() async throws {
        try await RecorderBench.run(Self.keepsLatest) { bench in
            await bench.apply(isAlways: false)
            let disk = bench.diskHangs()
            let saved = Task.immediate { try await bench.recorder.save("first") }
            bench.recorder.lost(.app(AppID(rawValue: 1), reason: "it crashed"))
            await bench.relay.shutDown()
            let finished = Task.immediate { await bench.recorder.finish() }
            disk.signal()
            await finished.value
            let reasons = try bench.reasons().sorted()
            #expect(reasons == ["saved: #1: it crashed", "saved: somebody asked for it"])
            _ = try await saved.value
        }
    }

    @Test("a disk that takes no file of the flight recorder does not keep relayd from stopping")
    func stopsBesideDisk() async throws {
        try await RecorderBench.run(Self.keepsLatest, savePatience: .zero) { bench in
            await bench.apply(isAlways: false)
            let disk = bench.diskHangs()
            let saved = Task.immediate { try await bench.recorder.save(nil) }
            await bench.recorder.finish()
            #expect(bench.log.records.contains { $0.message.hasPrefix("relayd stops without") })
            disk.signal()
            _ = try await saved.value
        }
    }
}

/// A recorder of a relay without a link, whose disk hangs on request.
private struct RecorderBench: Sendable {
    let recorder: Recorder
    let relay: Relay
    let log = LoggedLines()
    let policy: RecordingPolicy

    /// Runs `body` with a folder of its own.
    ///
    /// Both patiences are practically unlimited unless a test needs another value.
    static func run(
        _ wanted: RecordingPolicy = RecordingPolicy(),
        beginPatience: Duration = Duration(FramePeer.patience),
        savePatience: Duration = Duration(FramePeer.patience),
        _ body: (RecorderBench) async throws -> Void
    ) async throws {
        try await TemporaryDirectory.run { directory in
            var policy = wanted
            policy.folder = directory.path
            policy.queueBytes = 1 << 20
            let bench = try await RecorderBench(policy, beginPatience, savePatience)
            try await body(bench)
            await bench.relay.shutDown()
            await bench.recorder.finish()
        }
    }

    private init(
        _ policy: RecordingPolicy, _ beginPatience: Duration, _ savePatience: Duration
    ) async throws {
        let logger = Logger(label: "test") { [log] _ in log }
        self.policy = policy
        relay = try await Relay.start(
            on: MultiThreadedEventLoopGroup.singleton.next(), configuration: RelayConfiguration(),
            accessoryAddress: "test:", logger: logger)
        recorder = Recorder(
            policy, relay: relay, events: EventRing(instance: "test"), logger: logger,
            beginPatience: beginPatience, savePatience: savePatience, accessory: { "test:" })
    }

    /// Makes all further disk work of the recorder wait until the returned semaphore is signalled.
    func diskHangs() -> DispatchSemaphore {
        let goesOn = DispatchSemaphore(value: 0)
        recorder.loop().loop.execute { goesOn.wait() }
        return goesOn
    }

    func apply(isAlways: Bool) async { await recorder.apply(policy, isAlways: isAlways) }

    /// Whether a recording is being written to another file.
    func records(besides file: String) -> Bool {
        recorder.report.recording.map { $0.file != file } ?? false
    }

    /// The names of the existing files.
    var files: [String] {
        policy.folder.map { RecordingFolder($0).list(current: nil).recordings.map(\.name) } ?? []
    }

    /// The reason that each file gives for its end; "" for a file without an end.
    func reasons() throws -> [String] {
        try files.sorted().map { name in
            var trace = try TraceFile("\(policy.folder ?? "")/\(name)")
            var reason = ""
            while let entry = try trace.next() {
                if case .record(.end(let end)) = entry.content { reason = end.reason }
            }
            return reason
        }
    }

    func until(_ condition: () -> Bool) async throws {
        let deadline = NIODeadline.now() + FramePeer.patience
        while !condition() {
            guard NIODeadline.now() < deadline else { throw FramePeer.Failure.nothingCame }
            await Task.yield()
        }
    }
}
