// relayctl top as people use it: the built program on a terminal, with keys, another size, signals, and a
// relayd that goes and comes back.

import ControlAPI
import Glibc
import NIOCore
import RelayTesting
import Testing

@Suite(
    "relayctl top on a terminal", .serialized,
    .enabled(if: Tmux.isHere, "there is no tmux (Debian package tmux)"))
struct TopTests {
    /// A bench, and a shell in front of it that keeps the terminal's settings.
    private static func bench(
        columns: Int = 80, rows: Int = 24, _ body: (Relayd, Tmux) async throws -> Void
    ) async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            try await shell(columns: columns, rows: rows, relayd.directory, relayd.controlSocket) {
                tmux in
                try await body(relayd, tmux)
            }
        }
    }

    /// The same with the sample app on it.
    private static func busyBench(_ body: (Tmux) async throws -> Void) async throws {
        try await bench { relayd, tmux in
            let app = try await Program.relayctl.start([
                "sample-app", "--stay", "--name", "Radio Südwest", "--connect",
                "127.0.0.1:\(relayd.port)",
            ])
            do {
                try await body(tmux)
            } catch {
                app.signal(SIGKILL)
                throw error
            }
            app.signal(SIGTERM)
            _ = try await app.ended()
        }
    }

    private static func shell(
        columns: Int = 80, rows: Int = 24, _ directory: TemporaryDirectory, _ socket: String,
        _ body: (Tmux) async throws -> Void
    ) async throws {
        try await Tmux.run(
            columns: columns, rows: rows, in: directory,
            environment: [
                ControlSocket.environmentVariable: socket, "RELAYCTL": Program.relayctl.path(),
                "TZ": "UTC", "FOLDER": directory.path,
            ]
        ) { tmux in
            try await tmux.type("stty -a >$FOLDER/before; echo was there")
            // Not only what was typed.
            try await tmux.until("the shell has answered") {
                $0.contains("was there") && $0.last { !$0.isEmpty } == ">"
            }
            try await body(tmux)
        }
    }

    private static func start(_ tmux: Tmux, _ arguments: String = "") async throws {
        try await tmux.type("$RELAYCTL top \(arguments)")
        try await tmux.until("q quit")
        #expect(try await tmux.hasOtherScreen())
    }

    /// Expects the shell to be back, with its screen and settings as they were.
    private static func expectShell(_ tmux: Tmux, code: Int32) async throws {
        try await tmux.until("the shell is back") { $0.last { !$0.isEmpty } == ">" }
        #expect(try await !tmux.hasOtherScreen())
        try await tmux.type(
            "echo code $?; stty -a >$FOLDER/after; cmp $FOLDER/before $FOLDER/after && echo same")
        let screen = try await tmux.until("it is compared") {
            $0.contains { $0 == "same" || $0.contains("differ") }
        }
        #expect(screen.contains("same") && screen.contains("code \(code)"), "\(screen)")
        #expect(screen.contains("was there"))
    }

    // MARK: Looking

    @Test("the sample app's traffic comes; it is filtered, held, opened and left") func story()
        async throws
    {
        try await Self.busyBench { tmux in
            try await Self.start(tmux)
            var screen = try await tmux.until("rates") { screen in
                screen.contains { $0.contains("Radio Südwest     FULL") && $0.contains("/s") }
            }
            #expect(screen[0].hasPrefix("Head unit    open       sim: "))
            #expect(screen[1].hasPrefix("Apps         1 connected, 1 registered"))
            try await tmux.until("← OnVehicleData ×")

            try await tmux.press("/")
            try await tmux.write("rcp:Show")
            try await tmux.press("Enter")
            screen = try await tmux.until("there is no key 'rcp'; did you mean 'rpc'?")
            #expect(screen.suffix(2).first == " ^^^")
            try await tmux.press("C-u", "End", "C-u")
            try await tmux.write("rpc:Show")
            try await tmux.press("Enter")
            screen = try await tmux.until("the messages are filtered") { screen in
                screen.contains { $0.contains(" ✓ Show ") }
                    && !screen.contains { $0.contains("OnVehicleData ×") || $0.contains("/rpc") }
            }
            #expect(screen.contains { $0.hasPrefix("─ Messages ─") && $0.contains(" rpc:Show ─") })

            try await tmux.press("Up", "Up")
            try await tmux.until("a request is chosen") { screen in
                screen.contains { $0.contains("›") && $0.contains("→ Show") }
            }
            try await tmux.press("Enter")
            screen = try await tmux.until("\"mainField1\": ")
            #expect(screen[0].hasPrefix("─ Message "))
            #expect(screen.contains { $0.hasPrefix("RPC          Show  corr ") })
            try await tmux.press("Escape")
            try await tmux.until("paused")
            try await tmux.press("p")
            try await tmux.until("the list goes on") { !$0.contains { $0.contains("paused") } }
            try await tmux.press("q")
            try await Self.expectShell(tmux, code: 0)
        }
    }

    @Test("the screen follows the terminal's size, and says when it is too small") func sizes()
        async throws
    {
        try await Self.bench(columns: 20, rows: 5) { _, tmux in
            try await tmux.type("$RELAYCTL top")
            try await tmux.until("top needs 40×10")
            try await tmux.resize(columns: 60, rows: 24)
            try await tmux.until("q quit")
            try await tmux.resize(columns: 200, rows: 50)
            let screen = try await tmux.until("Enter open")
            #expect(screen[49].hasPrefix(" / filter  p pause"))
            #expect(screen.contains { $0.hasPrefix("─ Messages ─") && $0.count == 200 })
            try await tmux.press("q")
            try await tmux.until("the shell is back") { $0.last { !$0.isEmpty } == ">" }
        }
    }

    @Test("relayd goes and comes, and top says so") func restart() async throws {
        try await TemporaryDirectory.run { directory in
            let config = try directory.write("listen: [127.0.0.1:0]\n", to: "relayd.yaml")
            func start() async throws -> ChildProcess {
                let relayd = try await Program.relayd.start([
                    "--config", config, "--accessory", "sim:", "--control-socket",
                    directory.file("relayd.sock"),
                ])
                try await relayd.errors.first(containing: "apps connect by TCP")
                return relayd
            }
            let first = try await start()
            try await Self.shell(directory, directory.file("relayd.sock")) { tmux in
                try await Self.start(tmux)
                try await tmux.until("Head unit    open")
                first.signal(SIGTERM)
                _ = try await first.ended()
                try await tmux.until("waiting for it to come back")
                // Its last answer may have been that it stops.
                try await tmux.until("it is gone") {
                    $0[0].hasPrefix("relayd       not running for ")
                }
                let second = try await start()
                try await tmux.until("Head unit    open")
                try await tmux.until("relayd was restarted; its messages count from 1 again")
                second.signal(SIGTERM)
                _ = try await second.ended()
                try await tmux.until("waiting for it to come back")
                try await tmux.press("q")
                try await Self.expectShell(tmux, code: 0)
            }
        }
    }

    // MARK: Leaving

    @Test(
        "whatever ends it, the terminal is as it was",
        arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGILL])
    func signals(number: Int32) async throws {
        try await Self.bench { _, tmux in
            // So that a crash leaves no core file.
            try await tmux.type("ulimit -c 0")
            try await Self.start(tmux)
            kill(try await tmux.foreground(), number)
            try await Self.expectShell(tmux, code: 128 + number)
        }
    }

    @Test("^C ends it as other commands") func interrupt() async throws {
        try await Self.bench { _, tmux in
            try await Self.start(tmux)
            try await tmux.press("C-c")
            try await Self.expectShell(tmux, code: 130)
        }
    }

    @Test("^Z gives the terminal back until fg") func stop() async throws {
        try await Self.bench { _, tmux in
            try await Self.start(tmux)
            try await tmux.press("C-z")
            try await tmux.until("Stopped")
            try await Self.expectShell(tmux, code: 148)
            try await tmux.type("clear; fg")
            try await tmux.until("Head unit    open")
            #expect(try await tmux.hasOtherScreen())
            try await tmux.resize(columns: 100, rows: 30)
            try await tmux.press("?")
            try await tmux.until("─ Help ─")
            try await tmux.press("Escape", "q")
            try await tmux.until("the shell is back") { $0.last { !$0.isEmpty } == ">" }
            #expect(try await !tmux.hasOtherScreen())
        }
    }

    @Test("stopped, and in the background, it can be ended without the terminal") func killedJob()
        async throws
    {
        try await Self.bench { _, tmux in
            for whileStopped in ["", "bg; "] {
                try await Self.start(tmux)
                let top = try await tmux.foreground()
                try await tmux.press("C-z")
                try await tmux.until("Stopped")
                // The sum keeps the command line itself from being taken for its output; without -f, wait
                // also returns for a job that has stopped.
                try await tmux.type(
                    "clear; echo was there; \(whileStopped)kill %1; wait -f %1; echo gone $((1 + 1))"
                )
                try await tmux.until("gone 2")
                // On a busy machine the shell may be ahead of it.
                let end = NIODeadline.now() + FramePeer.patience
                while access("/proc/\(top)", F_OK) == 0, NIODeadline.now() < end {
                    await Task.yield()
                }
                #expect(access("/proc/\(top)", F_OK) != 0)
                try await tmux.type("true")
                try await Self.expectShell(tmux, code: 0)
            }
        }
    }

    @Test("a screen that ^S holds does not keep it from ending") func heldScreen() async throws {
        try await Self.bench { _, tmux in
            try await Self.start(tmux)
            try await tmux.holdOutput()
            kill(try await tmux.foreground(), SIGTERM)
            try await Self.expectShell(tmux, code: 128 + SIGTERM)
        }
    }

    @Test("a terminal that claims to be larger than any is drawn on all the same") func hugeScreen()
        async throws
    {
        try await Self.bench { _, tmux in
            try await tmux.type("clear; stty rows 65535 cols 65535; LINES=99999 $RELAYCTL top")
            // A screen drawn for another size than the terminal's does not count.
            try await tmux.until("─────")
            try await tmux.press("q")
            try await tmux.until("the shell is back") { $0.last { !$0.isEmpty } == ">" }
        }
    }

    // MARK: Not starting

    @Test("without relayd, or on what is no terminal for it, it says why and ends") func refusals()
        async throws
    {
        try await TemporaryDirectory.run { directory in
            try await Self.shell(directory, directory.file("nobody.sock")) { tmux in
                try await tmux.type("$RELAYCTL top")
                try await tmux.until("relayd is not running")
                try await Self.expectShell(tmux, code: 2)
            }
        }
        try await Self.bench { _, tmux in
            try await tmux.type("TERM=dumb $RELAYCTL top; echo code $?")
            try await tmux.until("TERM is \"dumb\", a terminal without a screen")
            try await tmux.until("code 64")
            try await tmux.type("clear; $RELAYCTL top </dev/null; echo code $?")
            try await tmux.until("top needs a terminal, and standard input is not one")
            try await tmux.until("code 64")
            try await tmux.type("clear; $RELAYCTL top 'rcp:Show'; echo code $?")
            try await tmux.until("did you mean 'rpc'?")
            try await tmux.until("code 64")
            // Of an emulator that this system has not heard of.
            try await tmux.type("clear; TERM=xterm-unheard-of $RELAYCTL top --color never rpc:Show")
            try await tmux.until("q quit")
            try await tmux.press("q")
            try await tmux.until("the shell is back") { $0.last { !$0.isEmpty } == ">" }
        }
    }

    @Test("a terminal that goes away ends it") func hangup() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            let terminal = try PseudoTerminal()
            let login = """
                import os, sys
                os.setsid()
                terminal = os.open(sys.argv[1], os.O_RDWR)
                os.dup2(terminal, 0)
                os.dup2(terminal, 1)
                os.execv(sys.argv[2], sys.argv[2:])
                """
            let top = try await ChildProcess.start(
                "python3", ["-c", login, terminal.path, Program.relayctl.path(), "top"],
                environment: Program.environment([
                    ControlSocket.environmentVariable: relayd.controlSocket, "TERM": "xterm",
                ]))
            _ = try await terminal.read(200)
            terminal.unplug()
            let ending = try await top.ended()
            #expect(ending == .killed(by: SIGHUP) || ending == .exited(0))
        }
    }
}
