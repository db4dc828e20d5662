// The built programs: where they are and in which environment tests start them.

import Glibc
import RelayTesting
import Testing

/// relayd and relayctl as `swift build` leaves them, beside the test bundle.
enum Program: String {
    case relayd, relayctl

    func path() throws -> String { try "\(Self.folder())/\(rawValue)" }

    /// The folder of the test bundle and the programs.
    private static func folder() throws -> String {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("/proc/self/exe", &bytes, bytes.count)
        guard length > 0 else { throw SystemFailure("/proc/self/exe cannot be read") }
        let ours = String(decoding: bytes.prefix(length), as: UTF8.self)
        // The test bundle runs by itself, or is loaded by a helper of the toolchain.
        let bundle =
            [ours, CommandLine.arguments.first ?? ""].first { $0.hasSuffix(".xctest") }
            ?? CommandLine.arguments.first { $0.hasSuffix(".xctest") }
        return try "/" + #require(bundle).split(separator: "/").dropLast().joined(separator: "/")
    }

    /// The environment of programs: nothing of this process's that could change what they do.
    static func environment(_ additions: [String: String] = [:]) -> [String: String] {
        // A busy machine may need longer for an answer than a person would wait; the dashboard has the
        // same port for the whole machine.
        var environment = ["TZ": "UTC", "RELAYD_TIMEOUT": "120", "RELAYD_DASHBOARD": "off"]
        for name in ["PATH", "HOME", "LD_LIBRARY_PATH"] {
            if let value = getenv(name) { environment[name] = String(cString: value) }
        }
        // Keeps what relayctl remembers of the tests out of the home of the person who runs them.
        if let folder = try? folder() { environment["XDG_STATE_HOME"] = folder + "/tests-state" }
        return environment.merging(Sanitizer.environment) { $1 }.merging(additions) { $1 }
    }

    func start(
        _ arguments: [String], environment: [String: String] = [:], readsOutput: Bool = true
    ) async throws -> ChildProcess {
        try await ChildProcess.start(
            path(), arguments, environment: Self.environment(environment),
            readsOutput: readsOutput)
    }

    /// Copies the program to where everybody may run it; the folder it lies in may be closed to
    /// others.
    ///
    /// Another program does the copying: if this one wrote the file, a program being started in another
    /// test could hold the descriptor, and nobody could run the copy ("text file busy").
    func copy(to path: String) async throws {
        let done = try await ChildProcess.run(
            "/usr/bin/install", ["--mode", "0755", try self.path(), path],
            environment: Self.environment())
        #expect(done.ending == .exited(0), "\(done.errors)")
    }

    /// Runs the program to its end.
    func run(
        _ arguments: [String], environment: [String: String] = [:]
    ) async throws -> ChildProcess.Finished {
        try await ChildProcess.run(
            path(), arguments, environment: Self.environment(environment))
    }
}
