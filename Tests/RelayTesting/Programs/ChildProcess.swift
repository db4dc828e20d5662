// A program of ours, started from its file and driven from outside.

import CShims
import Dispatch
import Glibc
import NIOCore
import NIOPosix
import Synchronization

/// A running program: its lines, its end, and signals to exactly this process.
package final class ChildProcess: Sendable {
    /// How a process ended.
    package enum Ending: Hashable, Sendable {
        case exited(Int32)
        case killed(by: Int32)
    }

    /// A short program's end and everything it wrote.
    package struct Finished: Sendable {
        package let ending: Ending
        package let output: String
        package let errors: String
    }

    package let pid: Int32
    /// Standard output.
    package let output: OutputLines
    /// Standard error.
    package let errors: OutputLines

    private let outputChannel: any Channel
    private let ending: EventLoopFuture<Ending>
    /// False once the process is reaped: its number may then belong to another process.
    private let isOurs: IsOurs

    private init(
        pid: Int32, output: (lines: OutputLines, channel: any Channel), errors: OutputLines
    ) {
        self.pid = pid
        self.output = output.lines
        self.errors = errors
        outputChannel = output.channel
        let isOurs = IsOurs()
        self.isOurs = isOurs
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let promise = loop.makePromise(of: Ending.self)
        ending = promise.futureResult
        // A queue of its own, because it blocks.
        DispatchQueue(label: "relayd.test.child.\(pid)").async {
            promise.succeed(Self.reap(pid, isOurs))
        }
    }

    /// Starts a program with nothing on standard input.
    ///
    /// - Parameters:
    ///   - path: its file, or a name to be found in this process's PATH.
    ///   - readsOutput: false leaves standard output unread until its pipe is full.
    package static func start(
        _ path: String, _ arguments: [String], environment: [String: String],
        readsOutput: Bool = true
    ) async throws -> ChildProcess {
        let output = try Pipe()
        let errors = try Pipe()
        let pid: Int32
        do {
            pid = try spawn(
                path, arguments, environment: environment, output: output.write,
                errors: errors.write)
        } catch {
            for end in [output.read, output.write, errors.read, errors.write] { close(end) }
            throw error
        }
        close(output.write)
        close(errors.write)
        return ChildProcess(
            pid: pid,
            output: try await OutputLines.read(output.read, readsByItself: readsOutput),
            errors: try await OutputLines.read(errors.read).lines)
    }

    /// Runs a program to its end.
    package static func run(
        _ path: String, _ arguments: [String], environment: [String: String]
    ) async throws -> Finished {
        let process = try await start(path, arguments, environment: environment)
        do {
            let ending = try await process.ended()
            return Finished(
                ending: ending,
                output: try await process.output.untilEnd().joined(separator: "\n"),
                errors: try await process.errors.untilEnd().joined(separator: "\n"))
        } catch {
            process.signal(SIGKILL)
            throw error
        }
    }

    /// Returns when the process has ended.
    package func ended() async throws -> Ending {
        let loop = ending.eventLoop
        let promise = loop.makePromise(of: Ending.self)
        ending.cascade(to: promise)
        let timeout = loop.scheduleTask(in: FramePeer.patience) {
            promise.fail(FramePeer.Failure.nothingCame)
        }
        defer { timeout.cancel() }
        return try await promise.futureResult.get()
    }

    /// Sends a signal; does nothing when the process has ended.
    package func signal(_ number: Int32) {
        isOurs.flag.withLock { isOurs in
            if isOurs { kill(pid, number) }
        }
    }

    package var isRunning: Bool { isOurs.flag.withLock { $0 } }

    /// Closes the reading end of standard output.
    package func closeOutput() async throws {
        try await outputChannel.close()
    }

    private final class IsOurs: Sendable {
        let flag = Mutex(true)
    }

    /// Lets one thread reap at a time: the kernel sometimes spins while it removes a child's entries in /proc, and
    /// on a busy machine several spinning threads would hold the processors most of the time.
    private static let reaping = Mutex(())

    private static func reap(_ pid: Int32, _ isOurs: IsOurs) -> Ending {
        var info = siginfo_t()
        // Waits without reaping, so that `signal` and this agree on whose number it is.
        while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        let status = reaping.withLock { _ in
            isOurs.flag.withLock { isOurs in
                isOurs = false
                var status: Int32 = 0
                waitpid(pid, &status, 0)
                return status
            }
        }
        let signal = status & 0x7F
        return signal == 0 ? .exited(status >> 8 & 0xFF) : .killed(by: signal)
    }
}

/// Both ends of a pipe.
private struct Pipe {
    let read: CInt
    let write: CInt

    init() throws {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw SystemFailure("no pipe") }
        (read, write) = (ends[0], ends[1])
    }
}

/// Starts a program with every signal as a login shell leaves it (the thread that starts it may
/// block some, and this process ignores SIGPIPE), and with nothing open but its three streams: a
/// socket of another test that it inherited would stay open until this program's end.
private func spawn(
    _ path: String, _ arguments: [String], environment: [String: String], output: CInt,
    errors: CInt
) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
    posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO)
    _ = relay_spawn_close_from(&actions, STDERR_FILENO + 1)

    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    for signal in [SIGPIPE, SIGINT, SIGTERM, SIGHUP] { sigaddset(&signals, signal) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(
        &attributes, Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF))

    let argv = ([path] + arguments).map { strdup($0) }
    let envp = environment.map { strdup("\($0.key)=\($0.value)") }
    defer { for text in argv + envp { free(text) } }
    var pid: pid_t = 0
    let error = posix_spawnp(&pid, path, &actions, &attributes, argv + [nil], envp + [nil])
    guard error == 0 else { throw SystemFailure("\(path) could not be started", errno: error) }
    return pid
}
