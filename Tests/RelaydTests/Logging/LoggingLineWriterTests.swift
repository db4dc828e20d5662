import Foundation
import Glibc
import NIOCore
import NIOEmbedded
import NIOPosix
import RelayTesting
import Synchronization
import Testing

@testable import relayd

// The line writer with readers that are fast, slow, gone, or full.

@Suite("LineWriter")
struct LoggingLineWriterTests {
    /// Creates a pipe and returns both ends.
    private static func makePipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        return (ends[0], ends[1])
    }

    /// Returns all lines until the writing end closes. Reads on a thread of its own that starts at once: tests
    /// share few threads, and on a busy machine a reader that waits for one of them starts after the writer's
    /// patience has run out.
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
        // More than a pipe holds, which is 64 KiB: once the writer's thread starts this line, it stays blocked
        // until the pipe is read, and no room is freed for a later line.
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
        // More than the pipe holds: the writer meets EAGAIN and partial writes.
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

    /// Starts a flush whose looks the test triggers; returns the number of lines written when it ends.
    private static func flush(
        _ writer: LineWriter, on loop: NIOAsyncTestingEventLoop
    ) -> Task<Int, Never> {
        // The first look has been scheduled when this returns.
        Task.immediate {
            await writer.flush(within: .seconds(1), on: loop)
            return writer.counters.written
        }
    }

    @Test(
        "a reader that takes a little all the time is waited for, though it never has room",
        .timeLimit(.minutes(15)))
    func steadyReader() async throws {
        let pipe = try Self.makePipe()
        defer { close(pipe.read) }
        let writer = LineWriter(.descriptor(pipe.write))
        let line = String(repeating: "x", count: 1_000)
        for _ in 0..<1_000 { writer.write(line) }
        func waitUntilFull() async {
            var question = pollfd(fd: pipe.write, events: Int16(POLLOUT), revents: 0)
            while poll(&question, 1, 0) != 0 { await Task.yield() }
        }
        let loop = NIOAsyncTestingEventLoop()
        let flushed = Self.flush(writer, on: loop)
        var chunk = [UInt8](repeating: 0, count: 32 * 1024)
        for _ in 1..<EndPatience.looks {
            await waitUntilFull()
            #expect(read(pipe.read, &chunk, chunk.count) == chunk.count)
            // At the time of the look, the pipe is full again.
            await waitUntilFull()
            await loop.advanceTime(by: .seconds(1))
        }
        let rest = Self.readLines(pipe.read)
        #expect(await flushed.value == 1_000)
        close(pipe.write)
        #expect(try await rest.get().last == line)
        await loop.shutdownGracefully()
    }

    @Test(
        "a journal that takes one entry after the other is waited for", .timeLimit(.minutes(15)))
    func steadyJournal() async throws {
        let (sends, sent) = AsyncStream<String>.makeStream()
        let permits = DispatchSemaphore(value: 0)
        let journal = LineWriter(
            .journal(
                send: { entry in
                    sent.yield(entry.message)
                    permits.wait()
                    return true
                }, wouldTake: { false }))
        for entry in 1...5 { journal.write("\(entry)") }
        var entries = sends.makeAsyncIterator()
        #expect(await entries.next() == "1")
        let loop = NIOAsyncTestingEventLoop()
        let flushed = Self.flush(journal, on: loop)
        for entry in 2...4 {
            permits.signal()
            // The previous entry has been taken when this one is sent.
            #expect(await entries.next() == "\(entry)")
            await loop.advanceTime(by: .seconds(1))
        }
        for _ in 4...5 { permits.signal() }
        #expect(await flushed.value == 5)
        await loop.shutdownGracefully()
    }

    @Test("a journal that hangs is let go at the first look", .timeLimit(.minutes(15)))
    func hungJournal() async throws {
        let end = DispatchSemaphore(value: 0)
        let journal = LineWriter(
            .journal(
                send: { _ in
                    end.wait()
                    return true
                }, wouldTake: { false }))
        journal.write("never taken")
        let loop = NIOAsyncTestingEventLoop()
        let flushed = Self.flush(journal, on: loop)
        await loop.advanceTime(by: .seconds(1))
        #expect(await flushed.value == 0)
        end.signal()
        await loop.shutdownGracefully()
    }

    @Test(
        "lines are waited for that are late because of this machine, not of their reader",
        .timeLimit(.minutes(15)))
    func lateLines() async throws {
        // The writer's thread gets no processor time until the first look is over.
        let looked = DispatchSemaphore(value: 0)
        let journal = LineWriter(
            .journal(
                send: { entry in
                    looked.wait()
                    return entry.message == "late"
                },
                wouldTake: {
                    looked.signal()
                    return true
                }))
        journal.write("late")
        let loop = NIOAsyncTestingEventLoop()
        let flushed = Self.flush(journal, on: loop)
        await loop.advanceTime(by: .seconds(1))
        #expect(await flushed.value == 1)
        await loop.shutdownGracefully()
    }

    @Test("journald is asked whether it would take an entry: it would unless its queue is full")
    func journalHasRoom() async throws {
        try await TemporaryDirectory.run { directory in
            let path = directory.path + "/socket"
            // The socket has no receiver: a send fails at once.
            #expect(Journal.wouldTake(at: path))
            let address = try SocketAddress(unixDomainSocketPath: path)
            let kind = Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue)
            let journald = socket(AF_UNIX, kind, 0)
            try #require(journald >= 0)
            defer { close(journald) }
            try #require(address.withSockAddr { bind(journald, $0, socklen_t($1)) } == 0)
            #expect(Journal.wouldTake(at: path))
            /// Sends from a new sender, so that the receiver's queue fills up and not a sender's buffer.
            func send() -> Int32 {
                let sender = socket(AF_UNIX, kind, 0)
                defer { close(sender) }
                let entry = Array("MESSAGE=x".utf8)
                return address.withSockAddr { pointer, length in
                    sendto(sender, entry, entry.count, 0, pointer, socklen_t(length)) > 0
                        ? 0 : errno
                }
            }
            var problem = send()
            while problem == 0 { problem = send() }
            try #require(problem == EAGAIN)
            #expect(!Journal.wouldTake(at: path))
            var entry = [UInt8](repeating: 0, count: 64)
            while recv(journald, &entry, entry.count, 0) > 0 {}
            #expect(Journal.wouldTake(at: path))
        }
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

/// The values that a closure was called with, from any thread.
final class Collected<Value: Sendable>: Sendable {
    private let stored = Mutex<[Value]>([])

    var values: [Value] { stored.withLock { $0 } }

    @discardableResult
    func add(_ value: Value) -> Bool {
        stored.withLock { $0.append(value) }
        return true
    }
}
