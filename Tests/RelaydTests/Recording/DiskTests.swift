// How a recording copes with a disk that hangs, is full, or loses the file.

import ControlAPI
import Glibc
import NIOCore
import NIOPosix
import RelayTesting
import SDLProtocol
import Synchronization
import Testing
import Traces

@testable import RelayCore
@testable import relayd

@Suite("A disk that takes nothing is told from a slow one")
struct DiskPatienceTests {
    private let start = ContinuousClock.now

    private func at(_ seconds: Double) -> ContinuousClock.Instant {
        start.advanced(by: .milliseconds(Int(seconds * 1000)))
    }

    @Test("it is said once that it hangs, once more when the traffic waits, and when it goes on")
    func dialogue() {
        var disk = DiskPatience(limit: .seconds(2))
        disk.writeBegins(at: at(0))
        #expect(disk.look(at: at(1.9), isHolding: false) == nil)
        #expect(
            disk.look(at: at(2), isHolding: false)
                == .takesNothing(for: .seconds(2), isHolding: false))
        #expect(disk.look(at: at(3), isHolding: false) == nil)
        #expect(
            disk.look(at: at(4), isHolding: true)
                == .takesNothing(for: .seconds(4), isHolding: true))
        #expect(disk.look(at: at(9), isHolding: true) == nil)
        disk.writeEnds()
        #expect(disk.look(at: at(10), isHolding: true) == .goesOn(after: .seconds(10)))
        #expect(disk.look(at: at(20), isHolding: false) == nil)
    }

    @Test("one that takes something now and then is slow, and nothing is said")
    func slow() {
        var disk = DiskPatience(limit: .seconds(2))
        for second in 0..<20 {
            disk.writeBegins(at: at(Double(second)))
            #expect(disk.look(at: at(Double(second) + 0.9), isHolding: true) == nil)
            disk.writeEnds()
        }
    }

    @Test("it goes on also when the next write has begun by then, and may hang again")
    func again() {
        var disk = DiskPatience(limit: .seconds(2))
        disk.writeBegins(at: at(0))
        _ = disk.look(at: at(3), isHolding: true)
        disk.writeEnds()
        disk.writeBegins(at: at(4))
        #expect(disk.look(at: at(5), isHolding: true) == .goesOn(after: .seconds(5)))
        #expect(
            disk.look(at: at(6), isHolding: true)
                == .takesNothing(for: .seconds(2), isHolding: true))
    }
}

@Suite("A recording and its disk")
struct DiskTests {
    private static let app = AppID(rawValue: 1)

    private static func recording(
        in directory: TemporaryDirectory, diskLimit: Duration = DiskWatch.limit,
        _ change: (inout RecordingPolicy) -> Void = { _ in }
    ) -> Recording {
        var policy = RecordingPolicy()
        policy.folder = directory.path
        change(&policy)
        return Recording(
            "session", policy, in: RecordingFolder(directory.path),
            TraceHeader(program: "relayd", accessory: "sim:", started: ""),
            startedAt: Timestamp(millisecondsSince1970: 0), diskLimit: diskLimit)
    }

    private static func push(_ number: UInt32, bytes: Int, to recording: Recording) {
        var batch = TapBatch(.everything)
        batch.append(
            TappedFrame(
                frame: .data(session: 1, message: number, bytes: bytes), direction: .fromApp,
                app: app, time: .now()))
        _ = recording.queue.push(TapView(batch, .everything), evenIfFull: true)
    }

    /// Writing blocks, so it runs on a thread of its own as in relayd.
    private static func write(
        _ recording: Recording, into file: RecordingFolder.NewFile
    ) -> Task<RecordingFailure?, Never> {
        Task(executorPreference: LoopExecutor(LastingLoop.start())) {
            var run = recording.run(into: file)
            do throws(RecordingFailure) {
                try await run.run()
                return nil
            } catch {
                return error
            }
        }
    }

    @Test("a disk that hangs is told of, in words and in the status, and when it goes on")
    func hangs() async throws {
        try await TemporaryDirectory.run { directory in
            let recording = Self.recording(in: directory, diskLimit: .milliseconds(20)) {
                $0.queueBytes = 1 << 20
            }
            // A pipe that is not read hangs as a disk does.
            var ends: [Int32] = [-1, -1]
            try #require(pipe(&ends) == 0)
            let (reading, writing) = (ends[0], ends[1])
            defer { close(reading) }
            let (said, say) = AsyncStream.makeStream(of: String.self)
            var news = said.makeAsyncIterator()
            recording.disk.start(on: MultiThreadedEventLoopGroup.singleton.any()) {
                say.yield($1)
            }
            defer { recording.disk.stop() }
            let written = Self.write(
                recording, into: .init(path: directory.file("pipe"), descriptor: writing))
            for number in 1...40 { Self.push(UInt32(number), bytes: 100_000, to: recording) }

            let first = try #require(await news.next())
            #expect(first.hasPrefix("the disk of \(directory.path) has accepted no data for 0 s"))
            #expect(first.contains("traffic waits"))
            let stall = try #require(recording.disk.stall)
            #expect(stall.directory == directory.path)

            recording.queue.finish()
            let drained = Task.detached {
                try await blocking { Self.drain(reading) }
            }
            while let words = await news.next(), !words.contains("accepts the recording again") {}
            #expect(await written.value == nil)
            #expect(try await drained.value > 4_000_000)
            #expect(recording.disk.stall == nil)
        }
    }

    private static func drain(_ descriptor: Int32) -> Int {
        var sum = 0
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return sum }
            sum += count
        }
    }

    @Test("a file that is removed while it is written ends the recording with a problem")
    func removed() async throws {
        try await TemporaryDirectory.run { directory in
            let recording = Self.recording(in: directory)
            let file = try recording.open()
            let written = Self.write(recording, into: file)
            Self.push(1, bytes: 100, to: recording)
            #expect(unlink(file.path) == 0)
            recording.queue.finish()
            let failure = try #require(await written.value)
            #expect(failure.isLoss)
            #expect(failure.description.hasPrefix("\(file.path) was removed while it was being"))
        }
    }

    @Test("a folder that is removed is noticed within a second of writing")
    func folderRemoved() async throws {
        try await TemporaryDirectory.run { directory in
            let folder = directory.file("traces")
            let recording = Self.recording(in: directory) { $0.folder = folder }
            try RecordingFolder(folder).make()
            let path = folder + "/session.pcapng"
            let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
            let written = Self.write(recording, into: .init(path: path, descriptor: descriptor))
            #expect(unlink(path) == 0 && rmdir(folder) == 0)
            // Adds frames as traffic does, until the loss is noticed; the queue is never ended.
            let traffic = Task {
                for number in 1...UInt32.max {
                    Self.push(number, bytes: 100, to: recording)
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
            let failure = await written.value
            traffic.cancel()
            #expect(failure?.isLoss == true)
        }
    }

    @Test(
        "what to do about a disk stands in the error",
        arguments: [
            (ENOSPC, "make room there"), (EDQUOT, "make room there"), (EFBIG, "record.file_size"),
            (EROFS, "may write to"),
        ])
    func remedies(code: Int32, words: String) {
        #expect(RecordingFailure("/a cannot be written", code).description.contains(words))
    }
}
