// The built relayctl log with a script in place of journalctl: what a person and a program get.

import Foundation
import RelayTesting
import Testing

@Suite("The built relayctl log") struct LogCommandTests {
    /// Lines as journalctl --output=json prints them: systemd's message, relayd's own, a refused request, its
    /// answer and advice.
    private static let journal = ##"""
        {"__REALTIME_TIMESTAMP":"1795257066000000","PRIORITY":"6","SYSLOG_IDENTIFIER":"systemd","_PID":"1","MESSAGE":"Started relayd."}
        {"__REALTIME_TIMESTAMP":"1795257067000000","PRIORITY":"5","SYSLOG_IDENTIFIER":"relayd","_PID":"7","RELAYD_LOGGER":"link","RELAYD_ACCESSORY":"sim:","MESSAGE":"link: opened (accessory=sim:)"}
        {"__REALTIME_TIMESTAMP":"1795257068000000","PRIORITY":"6","SYSLOG_IDENTIFIER":"relayd","_PID":"7","SDL_NUMBER":"4","SDL_KIND":"request","SDL_APP":"Web Radio","SDL_CONNECTION":"#1","SDL_FUNCTION":"Show","MESSAGE":"10:31:08.000  Web Radio  →  request  Show #2"}
        {"__REALTIME_TIMESTAMP":"1795257068005000","PRIORITY":"4","SYSLOG_IDENTIFIER":"relayd","_PID":"7","SDL_NUMBER":"5","SDL_KIND":"response","SDL_APP":"Web Radio","SDL_CONNECTION":"#1","SDL_FUNCTION":"Show","SDL_SUCCESS":"0","SDL_RESULT":"INVALID_DATA","SDL_LATENCY_MS":"5","MESSAGE":"10:31:08.005  Web Radio  ←  response  Show #2  INVALID_DATA!"}
        {"__REALTIME_TIMESTAMP":"1795257068006000","PRIORITY":"4","SYSLOG_IDENTIFIER":"relayd","_PID":"7","RELAYD_LOGGER":"advice","ADVICE_CODE":"invalid_data","ADVICE_SENTENCE":"Web Radio: Show is INVALID_DATA","ADVICE_REMEDY":"correct it","SDL_APP":"Web Radio","SDL_CONNECTION":"#1","RELAYD_ENTRY":"5","MESSAGE":"advice: …"}
        """##

    private struct Line: Decodable {
        var time: String
        var kind: String
        var level: String
        var priority: String
        var message: String
        var n: Int?
        var app: String?
        var function: String?
    }

    /// What `relayctl log` prints, and the arguments that journalctl was given.
    private static func log(
        _ arguments: String...
    ) async throws -> (lines: [String], asked: String) {
        var found: (lines: [String], asked: String) = ([], "")
        try await TemporaryDirectory.run { directory in
            let (script, asked) = (directory.file("journalctl"), directory.file("asked"))
            let text = "#!/bin/sh\necho \"$*\" >'\(asked)'\ncat <<'END'\n\(journal)\nEND\n"
            try text.write(toFile: directory.file("script"), atomically: false, encoding: .utf8)
            // Written by another program: see `Program.copy`.
            let made = try await ChildProcess.run(
                "/usr/bin/install", ["--mode", "0755", directory.file("script"), script],
                environment: Program.environment())
            #expect(made.ending == .exited(0), "\(made.errors)")
            let done = try await Program.relayctl.run(
                ["log", "--unit", "relayd"] + arguments,
                environment: ["PATH": "\(directory.path):/usr/bin:/bin"])
            #expect(done.ending == .exited(0), "\(done.errors)")
            found.lines = done.output.split(separator: "\n").map { String($0) }
            found.asked = try String(contentsOfFile: asked, encoding: .utf8)
        }
        return found
    }

    @Test("each line of JSON has what every line of tail and of the JSON log has")
    func json() async throws {
        let shown = try await Self.log("--json").lines
        let lines = try shown.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
        #expect(lines.map(\.kind) == ["log", "log", "request", "response", "advice"])
        #expect(lines.map(\.level) == ["info", "notice", "info", "warning", "warning"])
        #expect(lines.map(\.priority) == ["info", "info", "info", "warning", "warning"])
        #expect(
            lines.map(\.message) == [
                "Started relayd.", "opened (accessory=sim:)", "Web Radio → request Show #2",
                "Web Radio ← response Show #2 INVALID_DATA!", "Web Radio: Show is INVALID_DATA",
            ])
        #expect(lines.map(\.n) == [nil, nil, 4, 5, nil])
        #expect(lines.map(\.app) == [nil, nil, "#1", "#1", "#1"])
        #expect(lines[3].time == "2026-11-21T10:31:08.005000Z" && lines[3].function == "Show")
    }

    @Test("options choose as they do for tail, and the last lines are counted behind them")
    func choice() async throws {
        let app = try await Self.log("--app", "radio", "--json", "-n", "2", "--since", "10m")
        #expect(app.lines.count == 2 && app.lines[1].contains("\"kind\":\"advice\""))
        #expect(app.asked.contains("--since=-10m") && !app.asked.contains("--lines"))
        let kind = try await Self.log("--type", "request", "app:radio")
        #expect(kind.lines.count == 1 && kind.lines[0].contains("relayd[7]: 10:31:08.000"))
        #expect(kind.asked.contains("SDL_KIND=request"))
        let slow = try await Self.log("--slower-than", "6ms")
        #expect(slow.lines.isEmpty)
    }
}
