// A recording by itself: its files, their ring, and what happens when the disk is full.

import ControlAPI
import Glibc
import NIOCore
import RelayTesting
import SDLProtocol
import Testing
import Traces

@testable import RelayCore
@testable import relayd

@Suite("A recording and its files")
struct RecordingTests {
    private static let app = AppID(rawValue: 1)

    private static func recording(
        in directory: TemporaryDirectory, _ change: (inout RecordingPolicy) -> Void = { _ in }
    ) -> Recording {
        var policy = RecordingPolicy()
        policy.folder = directory.path
        change(&policy)
        var header = TraceHeader(program: "relayd", accessory: "sim:", started: "")
        header.masked = policy.masked
        return Recording(
            "session", policy, in: RecordingFolder(directory.path), header,
            startedAt: Timestamp(millisecondsSince1970: 0))
    }

    private static func push(_ count: UInt32, bytes: Int, to recording: Recording) {
        for number in 1...count {
            var batch = TapBatch(.everything)
            batch.append(
                TappedFrame(
                    frame: .data(session: 1, message: number, bytes: bytes),
                    direction: .fromApp, app: app, time: .now()))
            _ = recording.queue.push(TapView(batch, .everything), evenIfFull: true)
        }
    }

    private static func messages(_ path: String) throws -> [UInt32] {
        var file = try TraceFile(path)
        var numbers: [UInt32] = []
        while let entry = try file.next() {
            if case .frame(let tapped, _, _) = entry.content {
                numbers.append(tapped.frame.messageID ?? 0)
            }
        }
        return numbers
    }

    @Test("every frame is in its file, which only its user can read")
    func records() async throws {
        try await TemporaryDirectory.run { directory in
            let recording = Self.recording(in: directory)
            var run = recording.run(into: try recording.open())
            Self.push(1000, bytes: 50, to: recording)
            recording.queue.finish()
            try await run.run()
            let path = directory.file("session.pcapng")
            #expect(try Self.messages(path) == Array(1...1000))
            let progress = recording.progress
            #expect(progress.frames == 1000 && progress.missedFrames == 0 && progress.files == 1)
            var status = stat()
            #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
            #expect(Int(status.st_size) == progress.bytes)
        }
    }

    @Test("a ring of files: each begins by itself, the oldest make room, no frame is in two")
    func ring() async throws {
        try await TemporaryDirectory.run { directory in
            let recording = Self.recording(in: directory) {
                $0.fileBytes = 20_000
                $0.files = 3
                $0.queueBytes = 1 << 20
            }
            var run = recording.run(into: try recording.open())
            // Everything taken at once becomes one piece, so the writer is given it bit by bit.
            let writer = Task { try await run.run() }
            for start in 0..<100 as Range<UInt32> {
                var batch = TapBatch(.everything)
                batch.append(
                    TappedFrame(
                        frame: .data(session: 1, message: start + 1, bytes: 1000),
                        direction: .fromApp, app: Self.app, time: .now()))
                _ = recording.queue.push(TapView(batch, .everything), evenIfFull: true)
                while recording.queue.occupiedBytes > 0, !recording.queue.isAwaited {
                    await Task.yield()
                }
            }
            recording.queue.finish()
            try await writer.value
            let files = recording.progress.files
            #expect(files >= 5)
            let kept = (files - 2...files).map {
                directory.file("session-000\($0).pcapng")
            }
            let messages = try kept.flatMap(Self.messages)
            #expect(messages == Array((101 - UInt32(messages.count))...100))
            #expect(access(directory.file("session.pcapng"), F_OK) != 0)
        }
    }

    @Test("a file that is there already is not touched")
    func exists() async throws {
        try await TemporaryDirectory.run { directory in
            let path = try directory.write("mine", to: "session.pcapng")
            let error = #expect(throws: RecordingFailure.self) {
                _ = try Self.recording(in: directory).open()
            }
            #expect(error?.description == "\(path) cannot be made: File exists")
        }
    }

    @Test("two that begin in the same millisecond get two names")
    func sameMoment() async throws {
        try await TemporaryDirectory.run { directory in
            let folder = RecordingFolder(directory.path)
            let time = "2026-11-21T10:31:07.042Z"
            for suffix in ["", "-2", "-3"] {
                let name = folder.freeName(started: time, label: "bug")
                #expect(name == "relayd-20261121-103107042-bug" + suffix)
                close(try folder.create(name + ".pcapng").descriptor)
            }
            // A dangling link occupies its name.
            let link = directory.file("relayd-20261121-103107042-bug-4.pcapng")
            #expect(symlink(directory.file("nowhere"), link) == 0)
            #expect(folder.freeName(started: time, label: "bug").hasSuffix("-bug-5"))
        }
    }

    @Test("a full disk ends it behind the last whole packet, and says so")
    func fullDisk() async throws {
        let device = open("/dev/full", O_WRONLY)
        #expect(device >= 0)
        var file = RecordingFile(path: "/dev/full", descriptor: device)
        let error = #expect(throws: RecordingFailure.self) {
            try file.append(TraceBlocks(copyingBehind: ByteBuffer(repeating: 0, count: 100)))
        }
        let words = "/dev/full cannot be written: No space left on device; make room there"
        #expect(error?.description.hasPrefix(words) == true)
        #expect(file.bytes == 0)
    }

    @Test(
        "names are made of the time, and of what is harmless in what somebody wrote",
        arguments: [
            ("alert-missing", "-alert-missing"), ("../../etc/passwd", "-etc-passwd"),
            ("", ""), ("...", ""), ("a b\tc\n", "-a-b-c"), ("Ü😀", ""), ("v1.2_x", "-v1.2_x"),
            (String(repeating: "a", count: 500), "-" + String(repeating: "a", count: 80)),
            ("-rf", "-rf"), ("bench one/../x", "-bench-one-.-x"), ("two..dots", "-two.dots"),
        ])
    func names(label: String, suffix: String) {
        let name = RecordingFolder.name(started: "2026-11-21T10:31:07.042Z", label: label)
        #expect(name == "relayd-20261121-103107042" + suffix)
        #expect(RecordingFolder.isName(name + RecordingFolder.suffix), "it can be asked for")
    }

    @Test("the next file is due by size or by age, or never")
    func due() {
        var policy = RecordingPolicy()
        policy.fileBytes = 100
        #expect(!policy.isNextDue(bytes: 99, age: .seconds(99_999)))
        #expect(policy.isNextDue(bytes: 100, age: .zero))
        policy.fileBytes = 0
        #expect(!policy.isNextDue(bytes: .max, age: .seconds(99_999)))
        policy.fileTime = .seconds(60)
        #expect(!policy.isNextDue(bytes: .max, age: .seconds(59)))
        #expect(policy.isNextDue(bytes: 0, age: .seconds(60)))
    }
}
