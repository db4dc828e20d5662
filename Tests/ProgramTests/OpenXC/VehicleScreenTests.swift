// What relayctl vi does on a terminal with a person at it: a table kept up to date.

import ControlAPI
import Glibc
import RelayTesting
import Testing

@Suite(
    "relayctl vi on a terminal", .serialized,
    .enabled(if: Tmux.isHere, "there is no tmux (Debian package tmux)"))
struct VehicleScreenTests {
    /// A shell that remembers the terminal's settings.
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
            try await tmux.type("stty -g >$FOLDER/before; clear")
            try await tmux.until("the shell has answered") { $0.first == ">" }
            try await body(tmux)
        }
    }

    private static func bench(
        _ config: String = "openxc:\n  listen: 127.0.0.1:0\n",
        _ body: (VehicleBench, Tmux) async throws -> Void
    ) async throws {
        try await VehicleBench.run(config) { bench in
            try await shell(bench.relayd.directory, bench.relayd.controlSocket) { tmux in
                try await body(bench, tmux)
            }
        }
    }

    /// Expects the shell to be back, with this exit code and the terminal's settings as they were.
    private static func expectShell(_ tmux: Tmux, code: Int32) async throws {
        try await tmux.until("the shell is back") { $0.last { !$0.isEmpty } == ">" }
        try await tmux.type(
            "echo code $?; stty -g >$FOLDER/after; cmp $FOLDER/before $FOLDER/after && echo same")
        let screen = try await tmux.until("it is compared") {
            $0.contains { $0 == "same" || $0.contains("differ") }
        }
        #expect(screen.contains("same") && screen.contains("code \(code)"), "\(screen)")
    }

    /// Waits for the question of this command, not one that is still on the screen.
    private static func untilAsked(_ tmux: Tmux) async throws {
        try await tmux.until("it is asked") { screen in
            screen.contains { $0.contains("This will be written to the vehicle. Continue? [y/N]") }
                && !screen.contains("same")
        }
    }

    private static func rows(_ screen: [String], with word: String) -> Int {
        screen.count { $0.contains(word) }
    }

    // MARK: Watching

    @Test("the table stays in its place, whatever comes and whatever size the terminal has")
    func watch() async throws {
        try await Self.bench { bench, tmux in
            try await tmux.type("$RELAYCTL vi watch --interval 0.1")
            try await tmux.until("no signal has come yet")
            try await bench.says(
                #"{"name":"vehicle_speed","value":42.5}"#,
                #"{"name":"torque_at_transmission","value":-120}"#,
                #"{"name":"door_status","value":"driver","event":true}"#)
            var screen = try await tmux.until("42.5 km/h")
            #expect(screen[0].hasPrefix("OpenXC FORDBOARD 8.2.1 (fake), connected, json, "))
            #expect(screen.contains { $0.contains("door_status driver") && $0.contains("true") })
            try await bench.says(#"{"name":"vehicle_speed","value":43}"#)
            screen = try await tmux.until("43 km/h")
            #expect(Self.rows(screen, with: "vehicle_speed") == 1)
            #expect(Self.rows(screen, with: "42.5") == 0)
            #expect(Self.rows(screen, with: "OpenXC") == 1)

            try await tmux.resize(columns: 100, rows: 24)
            screen = try await tmux.until("Last minute")
            #expect(Self.rows(screen, with: "Per second") == 1)

            try await tmux.resize(columns: 40, rows: 24)
            screen = try await tmux.until("it is as narrow as the terminal") { screen in
                Self.rows(screen, with: "43 km/h") == 1 && Self.rows(screen, with: "Age") == 1
                    && !screen.contains { $0.contains("Last minute") || $0.contains("Per second") }
            }
            #expect(Self.rows(screen, with: "vehicle_speed") == 1)
            #expect(screen[0].hasPrefix("OpenXC"))
            try await tmux.press("C-c")
            try await Self.expectShell(tmux, code: 130)
        }
    }

    @Test("what does not fit is counted in one row, also where that is narrow")
    func small() async throws {
        try await Self.bench { bench, tmux in
            try await bench.says((10..<40).map { #"{"name":"signal_\#($0)","value":1}"# })
            try await tmux.resize(columns: 40, rows: 10)
            try await tmux.type("$RELAYCTL vi watch --interval 0.1")
            for _ in 0..<3 {
                let screen = try await tmux.until(" more; name the signals")
                #expect(screen[0].hasPrefix("OpenXC"), "\(screen)")
                #expect(screen[9].isEmpty)
                try await bench.says(#"{"name":"signal_10","value":2}"#)
            }
            try await tmux.press("C-c")
            try await Self.expectShell(tmux, code: 130)
        }
    }

    @Test("relayd goes and comes: the screen says so, then shows the vehicle again")
    func restart() async throws {
        try await TemporaryDirectory.run { directory in
            let config = try directory.write(
                "openxc: {listen: 127.0.0.1:0}\n", to: "relayd.yaml")
            let socket = directory.file("relayd.sock")
            func start() async throws -> ChildProcess {
                let relayd = try await Program.relayd.start([
                    "--config", config, "--accessory", "sim:openxc", "--control-socket", socket,
                ])
                try await relayd.errors.first(containing: "clients connect by TCP")
                return relayd
            }
            let first = try await start()
            try await Self.shell(directory, socket) { tmux in
                try await tmux.type("$RELAYCTL vi watch vehicle_speed --interval 0.1")
                try await tmux.until(" km/h")
                first.signal(SIGTERM)
                _ = try await first.ended()
                try await tmux.until("nothing but that relayd is gone") { screen in
                    Self.rows(screen, with: "relayd is not running") == 1
                        && Self.rows(screen, with: " km/h") == 0
                }
                let second = try await start()
                try await tmux.until("nothing but the vehicle again") { screen in
                    Self.rows(screen, with: " km/h") == 1
                        && Self.rows(screen, with: "not running") == 0
                }
                second.signal(SIGTERM)
                _ = try await second.ended()
                try await tmux.until("relayd is not running")
                try await tmux.press("C-c")
                try await Self.expectShell(tmux, code: 130)
            }
        }
    }

    // MARK: Writing

    @Test("a write is asked about: no, the end of the input and ^C write nothing, yes writes once")
    func write() async throws {
        let config = "openxc:\n  listen: 127.0.0.1:0\n  writes: [\"127.0.0.1 name:horn\"]\n"
        try await Self.bench(config) { bench, tmux in
            for (number, answer) in ["n", "", "yes please", "C-d", "C-c"].enumerated() {
                try await tmux.type("clear; $RELAYCTL vi write horn=\(number)")
                try await Self.untilAsked(tmux)
                if answer.hasPrefix("C-") {
                    try await tmux.press(answer)
                } else {
                    try await tmux.type(answer)
                }
                if answer != "C-c" { try await tmux.until("nothing was written") }
                try await Self.expectShell(tmux, code: answer == "C-c" ? 130 : 1)
            }
            try await tmux.type("clear; $RELAYCTL vi write horn=true")
            try await Self.untilAsked(tmux)
            try await tmux.type("Y")
            try await tmux.until("horn true was sent to the vehicle interface")
            try await Self.expectShell(tmux, code: 0)
            // This is the first thing that the vehicle interface hears.
            try await bench.hears(#"{"name":"horn","value":true}"#)
        }
    }
}
