// SIGHUP to the built relayd on a terminal: from a user who wants a reload, and from the kernel when the
// terminal is gone.

import Glibc
import RelayTesting
import Testing

@Suite("The built relayd on a terminal", .serialized)
struct TerminalTests {
    /// Makes the pty the controlling terminal of a new session, then becomes relayd.
    private static let login = """
        import os, sys
        os.setsid()
        os.dup2(os.open(sys.argv[1], os.O_RDWR), 0)
        os.execv(sys.argv[2], sys.argv[2:])
        """

    private static func run(
        _ body: (ChildProcess, PseudoTerminal, TemporaryDirectory) async throws -> Void
    ) async throws {
        try await TemporaryDirectory.run { directory in
            let terminal = try PseudoTerminal()
            let file = try directory.write("listen: [127.0.0.1:0]\n", to: "relayd.yaml")
            let relayd = try await ChildProcess.start(
                "python3",
                [
                    "-c", login, terminal.path, Program.relayd.path(), "--config", file,
                    "--control-socket", directory.file("relayd.sock"),
                ], environment: Program.environment())
            do {
                try await relayd.errors.first(containing: "apps connect by TCP")
                try await body(relayd, terminal, directory)
            } catch {
                relayd.signal(SIGKILL)
                _ = try? await relayd.ended()
                throw error
            }
        }
    }

    @Test("when the terminal is gone, relayd ends as it does on SIGTERM")
    func gone() async throws {
        try await Self.run { relayd, terminal, directory in
            terminal.unplug()
            let ending = try await relayd.ended()
            #expect(ending == .exited(0))
            #expect(access(directory.file("relayd.sock"), F_OK) != 0)
        }
    }

    @Test("SIGHUP from another shell reloads, and relayd goes on")
    func asked() async throws {
        try await Self.run { relayd, terminal, directory in
            _ = try directory.write(
                "listen: [127.0.0.1:0]\napps: {maximum: 7}\n", to: "relayd.yaml")
            relayd.signal(SIGHUP)
            let line = try await relayd.errors.first(containing: "configuration reloaded")
            #expect(line.contains("apps.maximum"))
            terminal.unplug()
            #expect(try await relayd.ended() == .exited(0))
        }
    }
}
