import Foundation
import Glibc
import NIOCore
import NIOPosix
import Synchronization
import Testing
import relayd

// The line writer against readers that are quick, slow, gone, or full.

@Suite("LineWriter")
struct LoggingLineWriterTests {
    /// Both ends of a pipe.
    private static func makePipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        return (ends[0], ends[1])
    }

    /// Everything until the writing end closes, as lines. Reads on a thread of its own that starts
    /// at once: tests share few threads, and on a busy machine a reader that waits for one of them
    /// comes later than the writer's patience lasts.
    private static func readLines(_ descriptor: Int32) -> EventLoopFuture<[String]> {
        let promise = MultiThreadedEventLoopGroup.singleton.next().makePromise(of: [String].self)
        Thread.detachNewThread { promise.succeed(blockingReadLines(descriptor)) }
        return promise.futureResult
    }

    private static func blockingReadLines(_ descriptor: Int32) -> [String] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    @Test("lines arrive whole and in order")
    func inOrder() async throws {
        let pipe = try Self.makePipe()
        defer { close(pipe.read) }
        let reader = Self.readLines(pipe.read)
        let writer = LineWriter(.descriptor(pipe.write))
        let lines = (0..<5_000).map { "line \($0) " + String(repeating: "x", count: $0 % 200) }
        for line in lines { writer.write(line) }
        await writer.flush(within: .seconds(30))
        close(pipe.write)
        #expect(try await reader.get() == lines)
        #expect(writer.counters == LineWriter.Counters(written: 5_000, missed: 0))
    }

    @Test("many threads may write at once")
    func manyWriters() async throws {
        let pipe = try Self.makePipe()
        defer { close(pipe.read) }
        let reader = Self.readLines(pipe.read)
        let writer = LineWriter(.descriptor(pipe.write))
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<4 {
                group.addTask { for line in 0..<500 { writer.write("\(task)-\(line)") } }
            }
        }
        await writer.flush(within: .seconds(30))
        close(pipe.write)
        #expect(Set(try await reader.get()).count == 2_000)
    }

    @Test("a reader that does not read costs lines, not time or memory; the gap is marked")
    func slowReader() async throws {
        let pipe = try Self.makePipe()
        defer { close(pipe.read) }
        let writer = LineWriter(.descriptor(pipe.write), queueLimit: 100_000)
        // More than a pipe takes, which is 64 KiB: whenever the writer's thread comes to it, there
        // it stays until somebody reads, and no room comes back that a later line could have.
        let first = String(repeating: "f", count: 70_999)
        writer.write(first)
        let line = String(repeating: "x", count: 999)
        for _ in 0..<1_000 { writer.write(line) }
        #expect(writer.counters.missed == 1_000 - 29)
        // A flood does not keep a warning out.
        writer.write("warning", priority: .warning)

        let reader = Self.readLines(pipe.read)
        await writer.flush(within: .seconds(30))
        writer.write("after")
        await writer.flush(within: .seconds(30))
        close(pipe.write)
        let notice = "… 971 log lines missed: the reader of this log is too slow"
        #expect(
            try await reader.get()
                == [first] + Array(repeating: line, count: 29) + [notice, "warning", "after"])
        #expect(writer.counters == LineWriter.Counters(written: 32, missed: 971))
    }

    @Test("a gap at the very end is marked by the flush")
    func gapAtTheEnd() async throws {
        let pipe = try Self.makePipe()
        defer { close(pipe.read) }
        let writer = LineWriter(.descriptor(pipe.write), queueLimit: 10)
        writer.write("longer than ten bytes")
        await writer.flush(within: .seconds(30))
        close(pipe.write)
        #expect(
            try await Self.readLines(pipe.read).get()
                == ["… 1 log line missed: the reader of this log is too slow"])
    }

    @Test("a reader that left ends the writing, not the process")
    func closedReader() async throws {
        let pipe = try Self.makePipe()
        defer { close(pipe.write) }
        let writer = LineWriter(.descriptor(pipe.write))
        close(pipe.read)
        writer.write("into the void")
        await writer.flush(within: .seconds(30))
        #expect(writer.isBroken)
        writer.write("this too")
        await writer.flush(within: .seconds(30))
        #expect(writer.counters == LineWriter.Counters(written: 0, missed: 2))
    }

    @Test("a descriptor that somebody made non-blocking loses nothing")
    func nonBlocking() async throws {
        let pipe = try Self.makePipe()
        defer { close(pipe.read) }
        #expect(fcntl(pipe.write, F_SETFL, O_NONBLOCK) == 0)
        let writer = LineWriter(.descriptor(pipe.write))
        // More than the pipe takes: the writer meets EAGAIN and partial writes.
        let lines = (0..<300).map { "\($0) " + String(repeating: "y", count: 1_000) }
        for line in lines { writer.write(line) }
        let reader = Self.readLines(pipe.read)
        await writer.flush(within: .seconds(30))
        close(pipe.write)
        #expect(try await reader.get() == lines)
    }

    @Test("a full disk costs lines and is tried again")
    func fullDisk() async throws {
        let full = open("/dev/full", O_WRONLY)
        try #require(full >= 0)
        defer { close(full) }
        let writer = LineWriter(.descriptor(full))
        writer.write("no room")
        await writer.flush(within: .seconds(30))
        #expect(!writer.isBroken)
        #expect(writer.counters == LineWriter.Counters(written: 0, missed: 1))
    }

    @Test("a reader that has stopped does not hold up the end")
    func flushGivesUp() async throws {
        let pipe = try Self.makePipe()
        let writer = LineWriter(.descriptor(pipe.write))
        for _ in 0..<100 { writer.write(String(repeating: "z", count: 1_000)) }
        await writer.flush(within: .milliseconds(1))
        // Lets the writer's queue end with the test.
        close(pipe.read)
        await writer.flush(within: .seconds(30))
        #expect(writer.isBroken)
        close(pipe.write)
    }

    @Test("lines are waited for that are late because of this machine, not of their reader")
    func lateLines() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let journal = LineWriter(
            .journal(send: { entry in
                // The writer's thread gets no processor time for a while.
                try? loop.scheduleTask(in: .milliseconds(30)) {}.futureResult.wait()
                return entry.message == "late"
            }))
        journal.write("late")
        await journal.flush(within: .milliseconds(20))
        #expect(journal.counters.written == 1)
    }

    @Test("fields are made for a journal only, and entries it refuses are counted")
    func journal() async throws {
        let received = Collected<JournalEntry>()
        let journal = LineWriter(
            .journal(send: { received.add($0) && $0.message != "refused" }))
        journal.write("taken", priority: .notice, fields: ["RELAYD_FUNCTION": "Show"])
        journal.write("refused")
        await journal.flush(within: .seconds(30))
        #expect(
            received.values == [
                JournalEntry(
                    message: "taken", priority: .notice, fields: ["RELAYD_FUNCTION": "Show"]),
                JournalEntry(message: "refused", priority: .info, fields: [:]),
            ])
        #expect(journal.counters == LineWriter.Counters(written: 1, missed: 1))

        let pipe = try Self.makePipe()
        defer {
            close(pipe.read)
            close(pipe.write)
        }
        let plain = LineWriter(.descriptor(pipe.write))
        plain.write("plain", fields: Self.unwanted())
        await plain.flush(within: .seconds(30))
        #expect(plain.counters.written == 1)
    }

    private static func unwanted() -> [String: String] {
        Issue.record("fields were made for a descriptor")
        return [:]
    }
}

/// What a closure was called with, from whichever thread.
final class Collected<Value: Sendable>: Sendable {
    private let stored = Mutex<[Value]>([])

    var values: [Value] { stored.withLock { $0 } }

    @discardableResult
    func add(_ value: Value) -> Bool {
        stored.withLock { $0.append(value) }
        return true
    }
}
