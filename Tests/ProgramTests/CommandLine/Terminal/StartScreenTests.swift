// The built relayd on a terminal of 60, 80 and 200 columns: what it shows there, and what it shows where
// there is no terminal. RELAYD_REWRITE_EXPECTED=1 writes the golden files anew.

import ControlAPI
import Foundation
import Glibc
import RelayTesting
import Testing

@Suite("The built relayd's first screen", .serialized)
struct StartScreenTests {
    /// Runs a program on a new terminal of this width until the words are there, then ends it, and prints
    /// what the terminal has received.
    private static let terminal = """
        import fcntl, os, pty, select, signal, struct, sys, termios, time
        columns, words, program = int(sys.argv[1]), sys.argv[2].encode(), sys.argv[3:]
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        child = os.fork()
        if child == 0:
            os.setsid()
            os.dup2(slave, 1)
            os.dup2(slave, 2)
            os.execv(program[0], program)
        os.close(slave)
        seen, deadline = b"", time.monotonic() + 60
        while words not in seen and time.monotonic() < deadline:
            if select.select([master], [], [], 0.1)[0]:
                seen += os.read(master, 65536)
        os.kill(child, signal.SIGTERM)
        try:
            while select.select([master], [], [], 60)[0]:
                seen += os.read(master, 65536)
        except OSError:
            pass
        status = os.waitpid(child, 0)[1]
        sys.stdout.write(seen.decode().replace("\\r\\n", "\\n"))
        sys.exit(status != 0)
        """

    /// What relayd writes on a terminal until its screen is there.
    private static func shown(
        columns: Int, accessory: String, in directory: TemporaryDirectory,
        _ more: [String: String] = [:]
    ) async throws -> [String] {
        let done = try await ChildProcess.run(
            "python3",
            [
                "-c", terminal, "\(columns)", "tail · doctor", Program.relayd.path(),
                "--accessory", accessory, "--listen", "127.0.0.1:0",
                "--dashboard", "127.0.0.1:0", "--control-socket", directory.file("relayd.sock"),
            ],
            environment: Program.environment(
                ["STATE_DIRECTORY": directory.path, "NO_COLOR": "1"].merging(more) { $1 }))
        #expect(done.ending == .exited(0), "\(done.output)\n\(done.errors)")
        return done.output.split(separator: "\n", omittingEmptySubsequences: false)
            .map { String($0) }
    }

    /// The screen alone; text that differs from run to run is replaced by text of the same width.
    private static func screen(
        _ lines: [String], _ directory: TemporaryDirectory
    ) throws -> String {
        let first = try #require(lines.firstIndex { $0.hasPrefix("relayd \(Version.current)") })
        let last = try #require(lines.firstIndex { $0.contains("tail · doctor") })
        let socket = directory.file("relayd.sock")
        return lines[first...last].map { line in
            line.replacing(Version.current, with: "VERSION")
                .replacing(socket, with: "/SOCKET")
                .replacing(#/(127\.0\.0\.1|0\.0\.0\.0):\d+/#) { "\($0.output.1):PORT." }
                .replacing(#/token=[0-9a-f]{32}/#, with: "token=TOKEN...........................")
                + "\n"
        }.joined()
    }

    @Test("five lines, aligned, and more of them where they do not fit", arguments: [60, 80, 200])
    func golden(columns: Int) async throws {
        try await TemporaryDirectory.run { directory in
            let lines = try await Self.shown(columns: columns, accessory: "sim:", in: directory)
            // relayd waits a moment for the link; on a busy machine it may not be there by then.
            let screen = try Self.screen(lines, directory).replacing("opening\n", with: "open\n")
            try Self.compare(screen, with: "start-\(columns).txt")
        }
    }

    @Test("a head unit that is not there is said with its reason", arguments: [60, 80, 200])
    func absent(columns: Int) async throws {
        try await TemporaryDirectory.run { directory in
            var screen = ""
            // relayd waits a moment for the link; on a busy machine it may know nothing by then.
            for _ in 1...20 where screen.isEmpty || screen.contains("opening\n") {
                let lines = try await Self.shown(
                    columns: columns, accessory: "serial:/dev/ttyRelaydTest", in: directory)
                screen = try Self.screen(lines, directory)
            }
            try Self.compare(screen, with: "start-absent-\(columns).txt")
        }
    }

    @Test("the address on the screen opens the page, and is the same after the next start")
    func token() async throws {
        try await TemporaryDirectory.run { directory in
            func token() async throws -> String? {
                try await Self.shown(columns: 80, accessory: "sim:", in: directory)
                    .joined().firstMatch(of: #/#token=([0-9a-f]{32})/#).map { String($0.1) }
            }
            let first = try #require(try await token())
            let kept = try String(
                contentsOfFile: directory.file("dashboard-token"), encoding: .utf8)
            #expect(kept == first + "\n")
            #expect(try await token() == first)
        }
    }

    @Test("where there is no terminal there are lines of the log, without the token")
    func noTerminal() async throws {
        try await Relayd.run(accessory: "sim:", ["--dashboard", "127.0.0.1:0"]) { relayd in
            try await relayd.until("open") { $0.accessory.state == .open }
            let said = relayd.process.errors.all.joined(separator: "\n")
            #expect(said.contains("apps connect by TCP to 127.0.0.1:\(relayd.port)"))
            #expect(said.contains("dashboard: http://127.0.0.1:"))
            let kept = try String(
                contentsOfFile: relayd.directory.file("dashboard-token"), encoding: .utf8)
            #expect(!said.contains(kept.dropLast()) && kept.count == 33)
        }
    }

    @Test("two relayds that nobody told about the dashboard both have one, and both need the token")
    func two() async throws {
        let unset = ["RELAYD_DASHBOARD": ""]
        try await Relayd.run(accessory: "sim:", environment: unset) { first in
            try await Relayd.run(accessory: "sim:", environment: unset) { second in
                let urls = try await [first.status(), second.status()].map(\.relayd.dashboardURL)
                #expect(Set(urls).count == 2 && !urls.contains(nil), "\(urls)")
                for (relayd, url) in zip([first, second], urls) {
                    let address = try await relayd.relayctl("dashboard").output
                    let token = try #require(address.split(separator: "=").last)
                    func status(_ more: String...) async throws -> String {
                        try await ChildProcess.run(
                            "curl",
                            ["-s", "-o", "/dev/null", "-w", "%{http_code}"] + more
                                + [(url ?? "") + "v1/status"],
                            environment: Program.environment()
                        ).output
                    }
                    #expect(try await status() == "401")
                    #expect(try await status("-H", "Authorization: Bearer \(token)") == "200")
                }
            }
        }
    }

    private static func compare(_ screen: String, with name: String) throws {
        let file = Checkout.root.appending(path: "Tests/Fixtures/golden/\(name)")
        if getenv("RELAYD_REWRITE_EXPECTED") != nil {
            try screen.write(to: file, atomically: true, encoding: .utf8)
        }
        let expected = try String(contentsOf: file, encoding: .utf8)
        #expect(screen == expected, "\(name)")
    }
}
