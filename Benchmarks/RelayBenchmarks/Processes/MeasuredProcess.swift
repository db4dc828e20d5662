// A program started by a benchmark: its life, and the processor time it used.

import Glibc

/// An error in a benchmark, reported to the person who runs it.
struct BenchmarkError: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) {
        self.description = description
    }

    /// A system call that failed.
    static func system(_ call: String) -> BenchmarkError {
        BenchmarkError("\(call): \(String(cString: strerror(errno)))")
    }
}

/// A running program. Ends it when it is ended itself.
///
/// RelayTesting's `ChildProcess` is no substitute: it reads the program's output on an event loop, and does not
/// ask for its processor time.
final class MeasuredProcess {
    let processID: pid_t
    let name: String
    private var hasEnded = false

    /// The only variables that programs inherit, so that runs are alike.
    private static let inheritedVariables = ["PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH"]

    /// - Parameters:
    ///   - output: file for standard output.
    ///   - errors: file for standard error.
    init(
        _ path: String, _ arguments: [String], environment: [String: String] = [:],
        output: String = "/dev/null", errors: String = "/dev/null"
    ) throws {
        name = path.split(separator: "/").last.map(String.init) ?? path
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        let writing = O_WRONLY | O_CREAT | O_APPEND
        posix_spawn_file_actions_addopen(&actions, 1, output, writing, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, errors, writing, 0o600)

        // Threads of Swift's pool block signals, and programs that they start would never see a SIGTERM.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))

        var variables = environment
        for variable in Self.inheritedVariables {
            if let value = getenv(variable) { variables[variable] = String(cString: value) }
        }
        var argumentPointers = ([path] + arguments).map { strdup($0) } + [nil]
        var variablePointers = variables.map { strdup("\($0)=\($1)") } + [nil]
        defer { for pointer in argumentPointers + variablePointers { free(pointer) } }
        var child = pid_t()
        let result = posix_spawnp(
            &child, path, &actions, &attributes, &argumentPointers, &variablePointers)
        guard result == 0 else {
            throw BenchmarkError("cannot start \(path): \(String(cString: strerror(result)))")
        }
        processID = child
    }

    deinit { end() }

    /// Asks the program to end, and makes it end if it does not within 5 s.
    func end() {
        guard !hasEnded else { return }
        hasEnded = true
        kill(processID, SIGTERM)
        var status: Int32 = 0
        for _ in 0..<500 {
            if waitpid(processID, &status, WNOHANG) != 0 { return }
            usleep(10_000)
        }
        kill(processID, SIGKILL)
        waitpid(processID, &status, 0)
    }

    /// Waits until the program has ended by itself.
    ///
    /// - Returns: Its exit status, or 128 and its signal; and the processor time it took, seconds.
    func ended() throws -> (code: Int32, processorTime: Double) {
        var (status, usage) = (Int32(0), rusage())
        while wait4(processID, &status, 0, &usage) < 0 {
            guard errno == EINTR else { throw BenchmarkError.system("waiting for \(name)") }
        }
        hasEnded = true
        let time =
            Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
            + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6
        // WIFEXITED and WEXITSTATUS of wait(2), which are macros.
        return (status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F, time)
    }

    /// False once the program has ended by itself.
    var isRunning: Bool {
        var status: Int32 = 0
        guard !hasEnded else { return false }
        hasEnded = waitpid(processID, &status, WNOHANG) != 0
        return !hasEnded
    }

    /// Processor time of all its threads so far, in seconds.
    var processorTime: Double {
        var clock = clockid_t()
        guard clock_getcpuclockid(processID, &clock) == 0 else { return 0 }
        return Clock.now(clock)
    }

    /// The same, once nothing is left to do: observers may be behind the last forwarded frame.
    func settledProcessorTime() -> Double {
        var before = processorTime
        while true {
            usleep(30_000)
            let now = processorTime
            // Two clock reads and a sleep cost the program nothing; 0.3 ms is noise.
            if now - before < 0.000_3 { return now }
            before = now
        }
    }
}

/// The system's clocks in seconds.
enum Clock {
    static func now(_ clock: clockid_t = CLOCK_MONOTONIC) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }

    /// Nanoseconds of the monotonic clock, for intervals.
    static func nanoseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
