// A terminal with a person at it, made of tmux: what is on the screen, and keys.

import Foundation
import Glibc
import NIOCore
import RelayTesting
import Testing

/// A tmux server of a test's own with one shell in it. Gone when `run` returns, whatever happened.
struct Tmux {
    let directory: TemporaryDirectory

    static let path = "/usr/bin/tmux"
    static let isHere = access(path, X_OK) == 0

    /// - Parameters:
    ///   - environment: of the shell, beside that of all programs.
    static func run(
        columns: Int = 80, rows: Int = 24, in directory: TemporaryDirectory,
        environment: [String: String] = [:], _ body: (Tmux) async throws -> Void
    ) async throws {
        let tmux = Tmux(directory: directory)
        try FileManager.default.createDirectory(
            atPath: tmux.outputFolder, withIntermediateDirectories: false)
        let variables = environment.flatMap { ["-e", "\($0.key)=\($0.value)"] }
        _ = try await tmux.ask(
            ["new-session", "-d", "-x", "\(columns)", "-y", "\(rows)"] + variables
                + ["bash --noprofile --norc -i"])
        do {
            // What programs write also goes into a file, whose growth shows that the screen has changed.
            try await tmux.ask(["pipe-pane", "-O", "exec cat >>'\(tmux.outputFolder)/output'"])
            try await tmux.type("PS1='> '; clear")
            try await tmux.until("the shell is there") { $0.first == ">" }
            try await body(tmux)
        } catch {
            Issue.record(
                "the screen was\n\((try? await tmux.screen())?.joined(separator: "\n") ?? "gone")")
            _ = try? await tmux.ask(["kill-server"])
            throw error
        }
        _ = try? await tmux.ask(["kill-server"])
    }

    @discardableResult
    private func ask(_ arguments: [String]) async throws -> String {
        let done = try await ChildProcess.run(
            Self.path, ["-u", "-f", "/dev/null", "-S", directory.file("tmux")] + arguments,
            environment: Program.environment(["LC_ALL": "C.UTF-8", "TERM": "xterm-256color"]))
        guard done.ending == .exited(0) else { throw Failure(description: done.errors) }
        return done.output
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Presses keys by tmux's names: "Up", "C-c", "q".
    func press(_ keys: String...) async throws {
        try await ask(["send-keys"] + keys)
    }

    /// Types text as it is.
    func write(_ text: String) async throws {
        try await ask(["send-keys", "-l", text])
    }

    /// Types a command line.
    func type(_ command: String) async throws {
        try await write(command)
        try await press("Enter")
    }

    func resize(columns: Int, rows: Int) async throws {
        try await ask(["resize-window", "-x", "\(columns)", "-y", "\(rows)"])
    }

    /// The rows of the screen, without blanks at their ends.
    func screen() async throws -> [String] {
        try await ask(["capture-pane", "-p"]).split(
            separator: "\n", omittingEmptySubsequences: false
        )
        .map(String.init)
    }

    /// Whether a program has a screen of its own in front of the shell's.
    func hasOtherScreen() async throws -> Bool {
        try await ask(["display-message", "-p", "#{alternate_on}"]) == "1"
    }

    /// Stops the terminal's output as ^S does, but at once.
    func holdOutput() async throws {
        let terminal = open(
            try await ask(["display-message", "-p", "#{pane_tty}"]), O_RDWR | O_NOCTTY)
        defer { close(terminal) }
        try #require(tcflow(terminal, TCOOFF) == 0)
    }

    /// The process that the shell runs in the foreground.
    func foreground() async throws -> pid_t {
        let shell = try await ask(["display-message", "-p", "#{pane_pid}"])
        let children = try ProcFile.read("/proc/\(shell)/task/\(shell)/children")
        return try #require(children.split(separator: " ").last.flatMap { pid_t($0) })
    }

    private var outputFolder: String { directory.file("screen") }

    /// Looks at the screen now and whenever a program has written something, until it is as described. A change
    /// without output of a program is not noticed.
    @discardableResult
    func until(_ what: String, _ isSo: ([String]) -> Bool) async throws -> [String] {
        let found = try await DirectoryWatch.until(outputFolder) {
            let latest = try await screen()
            return isSo(latest) ? latest : nil
        }
        guard let found else { throw Failure(description: "never so: \(what)") }
        return found
    }

    @discardableResult
    func until(_ text: String) async throws -> [String] {
        try await until("\"\(text)\" on the screen") { $0.contains { $0.contains(text) } }
    }
}

private enum ProcFile {
    static func read(_ path: String) throws -> String {
        guard let file = fopen(path, "r") else {
            throw Tmux.Failure(description: "\(path) is missing")
        }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
