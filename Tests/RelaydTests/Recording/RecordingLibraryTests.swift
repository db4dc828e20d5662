// Existing recordings: which files are shown, and the messages that reading them yields.

import ControlAPI
import DecodedTraces
import Foundation
import Glibc
import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Synchronization
import Testing
import Traces

@testable import relayd

@Suite("The recordings there are")
struct RecordingLibraryTests {
    /// A trace of a recorded session.
    private static func trace(_ capture: String = "js-full-1") throws -> ByteBuffer {
        var encoder = TraceEncoder(TraceHeader(program: "relayd", accessory: "tcp:", started: ""))
        var bytes = ByteBuffer()
        let start = WallTime(nanoseconds: 1_795_257_067_000_000_000)
        encoder.begin(started: "", at: start, into: &bytes)
        for item in try Capture.items(capture) { encoder.append(item, at: start, into: &bytes) }
        encoder.end(because: "stopped", at: start, into: &bytes)
        return bytes
    }

    @discardableResult
    private static func write(
        _ bytes: ByteBuffer, to name: String, in directory: TemporaryDirectory
    ) throws -> String {
        let path = directory.file(name)
        try Data(bytes.readableBytesView).write(to: URL(fileURLWithPath: path))
        return path
    }

    private static func request(_ query: String = "") throws -> MessageRequest {
        try MessageRequest(try RequestQuery("/?" + query), for: .list)
    }

    /// The numbers of the messages that the decoder yields for all bytes at once.
    private static func messages(_ bytes: ByteBuffer) throws -> [UInt64] {
        var reader = TraceReader()
        reader.append(bytes)
        var decoding = TraceDecoding()
        let ring = MessageRing(maximumBytes: 64 << 20)
        var entries: [TrafficEntry] = []
        while let entry = try reader.next() { decoding.receive(entry, into: &entries) }
        decoding.finish(into: &entries)
        ring.consume(entries)
        return ring.messages(after: 0, limit: .max).entries.map(\.number)
    }

    // MARK: Files

    @Test("the list has regular files of traces, the newest first, and says which is being written")
    func list() async throws {
        try await TemporaryDirectory.run { directory in
            let names = [
                "relayd-20261124-101112345-alert.pcapng", "mine.pcapng", ".hidden.pcapng",
                "notes.txt", ".pcapng", "two..dots.pcapng",
            ]
            for (index, name) in names.enumerated() {
                let path = try directory.write("12345", to: name)
                var times = [timeval(tv_sec: 1_000_000 + index, tv_usec: 0)]
                times.append(times[0])
                #expect(utimes(path, &times) == 0)
            }
            #expect(symlink("/etc/passwd", directory.file("link.pcapng")) == 0)
            #expect(mkdir(directory.file("folder.pcapng"), 0o700) == 0)
            #expect(mkfifo(directory.file("pipe.pcapng"), 0o600) == 0)
            let current = directory.file(names[0])
            let list = try await RecordingLibrary(directory.path) { current }.list()
            #expect(list.directory == directory.path && list.more == 0)
            #expect(list.recordings.map(\.name) == ["mine.pcapng", names[0]])
            #expect(list.recordings.map(\.isRecording) == [false, true])
            #expect(list.recordings.map(\.bytes) == [5, 5])
            #expect(
                list.recordings.map { $0.startedAt?.description }
                    == [nil, "2026-11-24T10:11:12.345Z"])
        }
        let nowhere = try await RecordingLibrary("/nowhere/at/all").list()
        #expect(nowhere.recordings.isEmpty && nowhere.directory == "/nowhere/at/all")
        let none = try await RecordingLibrary(nil).list()
        #expect(none.directory == nil)
    }

    @Test("of more recordings than are listed, the oldest are counted")
    func many() async throws {
        try await TemporaryDirectory.run { directory in
            for number in 0..<(RecordingList.maximum + 7) {
                close(creat(directory.file("\(number).pcapng"), 0o600))
            }
            let list = try await RecordingLibrary(directory.path).list()
            #expect(list.recordings.count == RecordingList.maximum && list.more == 7)
        }
    }

    @Test(
        "a name that leads elsewhere, or to what is no file, is refused",
        arguments: [
            "../mine.pcapng", "sub/mine.pcapng", "..", ".", "", "/etc/passwd", ".mine.pcapng",
            "..pcapng", "mine.pcapng\u{0}", "mi\u{0}ne.pcapng", "mine", "link.pcapng",
            "pipe.pcapng", "folder.pcapng", "absent.pcapng", "mine.pcapng/", "mine.txt",
            String(repeating: "x", count: 300) + ".pcapng",
        ])
    func refused(name: String) async throws {
        try await TemporaryDirectory.run { directory in
            #expect(mkdir(directory.file("traces"), 0o700) == 0)
            #expect(mkdir(directory.file("traces/sub"), 0o700) == 0)
            #expect(mkdir(directory.file("traces/folder.pcapng"), 0o700) == 0)
            #expect(mkfifo(directory.file("traces/pipe.pcapng"), 0o600) == 0)
            for file in ["mine.pcapng", "traces/mine.pcapng", "traces/sub/mine.pcapng"] {
                try directory.write("x", to: file)
            }
            #expect(symlink("mine.pcapng", directory.file("traces/link.pcapng")) == 0)
            let library = RecordingLibrary(directory.file("traces"))
            #expect(try await library.open("mine.pcapng").bytes == 1)
            let error = await #expect(throws: APIError.self) { _ = try await library.open(name) }
            #expect(error?.error.code == .notFound, "\(error?.error.message ?? "")")
        }
    }

    @Test("\"latest\" is the newest one") func latest() async throws {
        try await TemporaryDirectory.run { directory in
            let library = RecordingLibrary(directory.path)
            await #expect(throws: APIError.self) { _ = try await library.open("latest") }
            for (index, name) in ["b.pcapng", "a.pcapng"].enumerated() {
                let path = try directory.write("x", to: name)
                var times = [timeval(tv_sec: 1_000_000 + index, tv_usec: 0)]
                times.append(times[0])
                #expect(utimes(path, &times) == 0)
            }
            #expect(try await library.open("latest").name == "a.pcapng")
        }
    }

    @Test("of a file that is being written, whole blocks are sent, wherever it ends at the moment")
    func blocks() async throws {
        try await TemporaryDirectory.run { directory in
            let bytes = try Self.trace()
            var ends: [Int] = [0]
            while let end = ends.last, end < bytes.readableBytes,
                let length = bytes.getInteger(
                    at: end + 4, endianness: .little, as: UInt32.self)
            {
                ends.append(end + Int(length))
            }
            #expect(ends.count > 20)
            for size in stride(from: 0, through: min(20_000, bytes.readableBytes), by: 37) {
                let part = try #require(bytes.getSlice(at: 0, length: size))
                try Self.write(part, to: "x.pcapng", in: directory)
                let file = try RecordingFolder(directory.path)
                    .open("x.pcapng", current: directory.file("x.pcapng"))
                #expect(file.isGrowing)
                #expect(file.blocks(from: 0, before: .max) == ends.last { $0 <= size })
            }
        }
    }

    // MARK: Messages

    @Test("page by page come all messages in order, also where nothing is kept between two pages")
    func pages() async throws {
        try await TemporaryDirectory.run { directory in
            let bytes = try Self.trace()
            try Self.write(bytes, to: "x.pcapng", in: directory)
            let expected = try Self.messages(bytes)
            #expect(expected.count > 30)
            var forgetful = RecordingLibrary.Limits()
            forgetful.idle = 0
            var hasty = RecordingLibrary.Limits()
            hasty.patience = .zero
            for limits in [RecordingLibrary.Limits(), forgetful, hasty] {
                let library = RecordingLibrary(directory.path, limits: limits)
                var numbers: [UInt64] = []
                var query = "limit=7"
                for _ in 0..<1000 {
                    let page = try await library.messages("x.pcapng", try Self.request(query))
                    numbers += page.reading.entries.map(\.number)
                    #expect(page.reading.entries.count <= 7 && page.reading.missed == 0)
                    #expect(page.problem == nil)
                    if page.isAtEnd { break }
                    query = "limit=7&after=\(page.reading.next)&instance=\(page.instance)"
                }
                #expect(numbers == expected)
            }
        }
    }

    @Test("a filter chooses as it does live, and a cursor of another recording counts for nothing")
    func filters() async throws {
        try await TemporaryDirectory.run { directory in
            try Self.write(try Self.trace(), to: "x.pcapng", in: directory)
            let library = RecordingLibrary(directory.path)
            let page = try await library.messages(
                "x.pcapng", try Self.request("filter=rpc:RegisterAppInterface&limit=1000"))
            #expect(page.isAtEnd && page.reading.entries.count == 2)
            let other = try await library.messages(
                "x.pcapng", try Self.request("after=50&instance=0000000000000000&limit=3"))
            #expect(other.reading.entries.first?.number == 1)
            let beyond = try await library.messages(
                "x.pcapng", try Self.request("after=1000000"))
            #expect(beyond.isAtEnd && beyond.reading.entries.isEmpty)
        }
    }

    @Test("what is written later comes after the cursor, and then the end")
    func growing() async throws {
        try await TemporaryDirectory.run { directory in
            let bytes = try Self.trace()
            let expected = try Self.messages(bytes)
            let half = try #require(bytes.getSlice(at: 0, length: bytes.readableBytes / 2))
            let path = try Self.write(half, to: "x.pcapng", in: directory)
            let current = Current(path)
            let library = RecordingLibrary(directory.path) { current.path.withLock { $0 } }
            let first = try await library.messages("x.pcapng", try Self.request("limit=1000"))
            #expect(first.isAtEnd && !first.reading.entries.isEmpty)
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            try handle.seekToEnd()
            try handle.write(
                contentsOf: Data(bytes.readableBytesView.dropFirst(half.readableBytes)))
            try handle.close()
            current.path.withLock { $0 = nil }
            let second = try await library.messages(
                "x.pcapng",
                try Self.request(
                    "limit=1000&after=\(first.reading.next)&instance=\(first.instance)"))
            let numbers = (first.reading.entries + second.reading.entries).map(\.number)
            #expect(second.isAtEnd && numbers == expected)
        }
    }

    @Test("a damaged recording is shown up to there, one that is none is refused in words")
    func damaged() async throws {
        try await TemporaryDirectory.run { directory in
            var bytes = try Self.trace()
            let count = try Self.messages(bytes).count
            bytes.setInteger(UInt32.max, at: bytes.readableBytes / 2 & ~3)
            bytes.setInteger(UInt32.max, at: bytes.readableBytes / 2 & ~3 + 4)
            try Self.write(bytes, to: "x.pcapng", in: directory)
            try directory.write("hello", to: "y.pcapng")
            try directory.write("", to: "z.pcapng")
            let library = RecordingLibrary(directory.path)
            let page = try await library.messages("x.pcapng", try Self.request("limit=1000"))
            if let problem = page.problem {
                #expect(problem.hasPrefix("x.pcapng: ") && page.reading.entries.count < count)
            }
            #expect(page.isAtEnd)
            for (name, words) in [
                ("y.pcapng", "not a pcapng file"), ("z.pcapng", "empty, 0 bytes"),
            ] {
                for ask in [
                    { _ = try await library.messages(name, try Self.request()) },
                    { _ = try await library.info(name) },
                    { _ = try await library.statistics(name) },
                ] as [() async throws -> Void] {
                    let error = await #expect(throws: APIError.self) { try await ask() }
                    #expect(error?.error.code == .badRequest)
                    #expect(error?.error.message.contains("\(name): \(words)") == true)
                }
            }
        }
    }

    @Test("statistics and summary are those of relayctl trace") func counts() async throws {
        try await TemporaryDirectory.run { directory in
            let bytes = try Self.trace()
            let path = try Self.write(bytes, to: "x.pcapng", in: directory)
            let library = RecordingLibrary(directory.path)
            var survey = TraceSurvey()
            try survey.read(path)
            var expected = survey.report
            expected.files[0].path = "x.pcapng"
            #expect(try await library.info("x.pcapng") == expected)
            var count = TraceCount()
            var files = TraceFiles([path])
            while let entry = try files.nextEntry() { count.receive(entry) }
            let (mine, theirs) = (try await library.statistics("x.pcapng"), count.finish())
            #expect(mine.counts == theirs.counts && mine.streams == theirs.streams)
        }
    }

    @Test("of more readers than there may be at once, the next is told so") func readers()
        async throws
    {
        try await TemporaryDirectory.run { directory in
            try Self.write(try Self.trace(), to: "x.pcapng", in: directory)
            var limits = RecordingLibrary.Limits()
            limits.readers = 0
            let library = RecordingLibrary(directory.path, limits: limits)
            let error = await #expect(throws: APIError.self) {
                _ = try await library.messages("x.pcapng", try Self.request())
            }
            #expect(error?.error.code == .tooMany)
            #expect(try await library.list().recordings.count == 1)
        }
    }
}

/// The file that is being written.
private final class Current: Sendable {
    let path: Mutex<String?>

    init(_ path: String) { self.path = Mutex(path) }
}
