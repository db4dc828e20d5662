// ^C at the commands that make a trace from others: nothing of the new trace is left.

import Foundation
import Glibc
import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import Testing
import Traces

@Suite("^C while a trace is being made", .serialized)
struct TraceInterruptTests {
    private static let strace = "/usr/bin/strace"
    private static let hasStrace = access(strace, X_OK) == 0
    private static let start = WallTime(nanoseconds: 1_795_257_067_000_000_000)

    private static func trace(frames count: UInt32) -> ByteBuffer {
        var encoder = TraceEncoder(
            TraceHeader(program: "relayd 0.0.0", accessory: "sim:", started: ""))
        var bytes = ByteBuffer()
        let app = AppID(rawValue: 1)
        encoder.begin(started: "", at: start, into: &bytes)
        encoder.append(
            .appConnected(app, peer: "127.0.0.1:1", time: start), at: start, into: &bytes)
        for number in 1...count {
            let frame = TappedFrame(
                frame: FramePeer.request(number, 1), direction: .fromApp, app: app, time: start)
            encoder.append(.frames([frame]), at: start, into: &bytes)
        }
        encoder.end(because: "stopped", at: start, into: &bytes)
        return bytes
    }

    private static func draftsFolder(_ directory: TemporaryDirectory) throws -> String {
        let folder = directory.file("out")
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        return folder
    }

    private static func names(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder)
    }

    private static func tracer(of pid: pid_t) throws -> pid_t? {
        let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        return status.firstMatch(of: #/TracerPid:\s*([1-9]\d*)/#).flatMap { pid_t($0.1) }
    }

    /// Starts relayctl under strace(1), which puts faults before its system calls.
    private static func start(
        _ arguments: [String], faults: [String], in directory: TemporaryDirectory,
        _ prefix: [String] = []
    ) async throws -> ChildProcess {
        let words =
            prefix + [strace, "-D", "-f", "-o", directory.file("strace")] + faults
            + [try Program.relayctl.path(), "trace"] + arguments
        return try await ChildProcess.start(
            words[0], Array(words.dropFirst()), environment: Program.environment())
    }

    @Test(
        "as late as can be, before the new file has its name: no file is left",
        .enabled(if: Self.hasStrace, "there is no strace (Debian package strace)"),
        arguments: ["cut", "merge", "anonymise"])
    func late(name: String) async throws {
        try await TemporaryDirectory.run { directory in
            let input = directory.file("input")
            try Data(Self.trace(frames: 10).readableBytesView).write(to: URL(filePath: input))
            let folder = try Self.draftsFolder(directory)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let inputs = name == "merge" ? [input, input] : [input]
            let process = try await Self.start(
                [name] + inputs + ["-o", folder + "/new.pcapng"],
                // Far longer than a test takes; strace writes the name of a call before it waits.
                faults: ["-e", "trace=fsync", "-e", "inject=fsync:delay_enter=600s:when=1"],
                in: directory)
            let calls = directory.file("strace")
            func until(_ words: String) async throws {
                let found = try await DirectoryWatch.until(directory.path) {
                    let text = try? String(contentsOfFile: calls, encoding: .utf8)
                    return text?.contains(words) == true ? true : nil
                }
                #expect(found == true, "\(words): \(process.errors.all)")
            }
            try await until("fsync(")
            let found = try Self.tracer(of: process.pid)
            let tracer = try #require(found)
            process.signal(SIGINT)
            try await until("killed by SIGINT")
            // strace would not notice a dead process before the wait is over.
            kill(tracer, SIGKILL)
            #expect(try await process.ended() == .killed(by: SIGINT), "\(process.errors.all)")
            #expect(try Self.names(folder) == [])
        }
    }

    @Test(
        "in the middle, on a file system that has no files without a name: the draft is removed",
        .enabled(if: Self.hasStrace, "there is no strace (Debian package strace)"))
    func draft() async throws {
        try await Self.withDraft { (process, _, folder) async throws in
            process.signal(SIGINT)
            let ending = try await process.ended()
            #expect(ending == .killed(by: SIGINT), "\(process.errors.all)")
            #expect(try Self.names(folder) == [])
        }
    }

    @Test(
        "there, a signal that is ignored stays ignored",
        .enabled(if: Self.hasStrace, "there is no strace (Debian package strace)"))
    func ignored() async throws {
        try await Self.withDraft(["/usr/bin/nohup"]) { (process, closePipe, folder) async throws in
            process.signal(SIGHUP)
            closePipe()
            let ending = try await process.ended()
            #expect(ending == .exited(0), "\(process.errors.all)")
            #expect(try Self.names(folder) == ["new.pcapng"])
        }
    }

    /// Runs the command until there is a draft, and no further: the pipe that it reads stays open.
    private static func withDraft(
        _ prefix: [String] = [],
        _ body: (ChildProcess, _ closePipe: () -> Void, _ folder: String) async throws -> Void
    ) async throws {
        try await TemporaryDirectory.run { directory in
            let pipe = directory.file("pipe")
            #expect(mkfifo(pipe, 0o600) == 0)
            var writing = open(pipe, O_RDWR | O_CLOEXEC)
            func closePipe() {
                if writing >= 0 { close(writing) }
                writing = -1
            }
            defer { closePipe() }
            let input = Array(Self.trace(frames: 10).readableBytesView)
            #expect(write(writing, input, input.count) == input.count)

            let folder = try Self.draftsFolder(directory)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let process = try await Self.start(
                ["anonymise", pipe, "-o", folder + "/new.pcapng"],
                faults: [
                    "-P", folder + "/", "-e", "trace=openat",
                    "-e", "inject=openat:error=EOPNOTSUPP:when=1",
                ], in: directory, prefix)
            let draft = try await DirectoryWatch.until(folder) { try Self.names(folder).first }
            #expect(draft?.hasPrefix(".new.pcapng.") == true, "\(process.errors.all)")
            try await body(process, closePipe, folder)
        }
    }
}
