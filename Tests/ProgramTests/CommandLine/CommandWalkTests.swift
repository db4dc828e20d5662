// Every command relayctl has, one after the other: help, JSON, exit codes with and without relayd.

import ControlAPI
import Foundation
import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import Testing
import Traces

@Suite("All of relayctl's commands", .serialized)
struct CommandWalkTests {
    /// How a command is called when all goes well, in an order in which it does, and how it ends where
    /// no relayd runs.
    struct Walk {
        var name: String
        var arguments: [String] = []
        var alone: Int32 = 2
        /// The command has a screen and no JSON, and says so: these tests have no terminal. TopTests has one.
        var isScreen = false
        /// The command is about vehicle interfaces, and says so: these tests have a head unit.
        var isOfVehicles = false
    }

    static func walks(port: Int, directory: TemporaryDirectory) -> [Walk] {
        let report = directory.file("report-\(UUID()).tar.gz")
        let second = ["--name", "Second", "--app-id", "second"]
        return [
            Walk(name: "status"), Walk(name: "top", alone: 64, isScreen: true), Walk(name: "apps"),
            Walk(name: "app", arguments: ["1"]),
            Walk(name: "stats"), Walk(name: "vi", isOfVehicles: true), Walk(name: "config"),
            Walk(name: "dashboard"), Walk(name: "api"),
            Walk(name: "version", alone: 0),
            Walk(name: "tail", arguments: ["--once"]), Walk(name: "show", arguments: ["1"]),
            Walk(name: "log", arguments: ["--unit", "relayd"], alone: 0),
            Walk(name: "filter", alone: 0), Walk(name: "record"),
            Walk(name: "trace", arguments: ["info", trace(directory)], alone: 0),
            Walk(
                name: "replay",
                arguments: [
                    trace(directory, hasApp: true), "--to", "127.0.0.1:\(port)", "--speed", "max",
                ], alone: 2),
            Walk(name: "wireshark", alone: 0), Walk(name: "doctor"),
            Walk(name: "advice"),
            Walk(name: "explain", alone: 0), Walk(name: "permissions", arguments: ["1", "Show"]),
            Walk(name: "devices", alone: 0),
            Walk(name: "bugreport", arguments: ["--file", report]),
            Walk(
                name: "sample-app", arguments: ["--connect", "127.0.0.1:\(port)"] + second,
                alone: 1),
            Walk(name: "send", arguments: ["--app", "1", "ListFiles"]),
            Walk(name: "stream", arguments: ["--as", "Map", sound(directory)]),
            Walk(name: "request", alone: 0),
            Walk(name: "inject", arguments: ["--app", "1", "press", "OK"]),
            Walk(name: "run", arguments: [scenario(directory)]), Walk(name: "scenario", alone: 0),
            Walk(name: "log-level", arguments: ["debug"]), Walk(name: "reload"),
            Walk(name: "fault"), Walk(name: "setup", arguments: ["gadget", "--dry-run"], alone: 0),
            Walk(name: "disconnect", arguments: ["1"]), Walk(name: "reopen"),
            Walk(name: "server", arguments: ["off"]),
        ]
    }

    /// A trace that is empty, or has an app that says hardly anything: all that the walk needs.
    private static func trace(_ directory: TemporaryDirectory, hasApp: Bool = false) -> String {
        let path = directory.file(hasApp ? "app.pcapng" : "walk.pcapng")
        var encoder = TraceEncoder(
            TraceHeader(program: "relayd", accessory: "sim:", started: "2026-11-23T10:00:00Z"))
        var bytes = ByteBuffer()
        let time = WallTime(nanoseconds: 0)
        encoder.begin(started: "2026-11-23T10:00:00Z", at: time, into: &bytes)
        if hasApp {
            // It is granted a session, and leaves.
            let app = AppID(rawValue: 1)
            var start = TappedFrame(
                frame: Frame(version: 1, type: .control, service: .rpc, info: 1, sessionID: 0),
                direction: .fromApp, app: app, time: time)
            encoder.append(.frames([start]), at: time, into: &bytes)
            start.frame = Frame(version: 5, type: .control, service: .rpc, info: 2, sessionID: 1)
            start.direction = .fromAccessory
            start.grant = .opens
            encoder.append(.frames([start]), at: time, into: &bytes)
        }
        encoder.end(because: "stopped", at: time, into: &bytes)
        try? Data(bytes.readableBytesView).write(to: URL(fileURLWithPath: path))
        return path
    }

    /// A moment of silence.
    private static func sound(_ directory: TemporaryDirectory) -> String {
        let path = directory.file("walk.pcm")
        try? Data([0, 0]).write(to: URL(fileURLWithPath: path))
        return path
    }

    /// A scenario that needs no app.
    private static func scenario(_ directory: TemporaryDirectory) -> String {
        let path = directory.file("walk.yaml")
        let text = "scenario: A walk\nsteps:\n  - pause: 1ms\n"
        try? Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    private static let registration = """
        {"appName":"Walked","appID":"walked","isMediaApplication":false,\
        "languageDesired":"EN-US","hmiDisplayLanguageDesired":"EN-US",\
        "syncMsgVersion":{"majorVersion":7,"minorVersion":1,"patchVersion":0}}
        """

    /// The commands `relayctl --help` lists.
    private static func names() async throws -> [String] {
        let help = try await Program.relayctl.run(["--help"]).output
        let lists = help.split(separator: " SUBCOMMANDS:\n").dropFirst()
        return lists.flatMap { list in
            list.split(separator: "\n", omittingEmptySubsequences: false)
                .prefix { $0.hasPrefix("  ") }
                .compactMap { $0.firstMatch(of: #/^  ([a-z][a-z-]*)  /#).map { String($0.1) } }
        }
    }

    /// The codes under EXIT CODES of a command's help.
    static func documentedCodes(_ help: String) -> Set<Int32> {
        guard let list = help.firstRange(of: "\nEXIT CODES\n") else { return [] }
        let lines = help[list.upperBound...].split(
            separator: "\n", omittingEmptySubsequences: false
        ).prefix { $0.hasPrefix("  ") }
        return Set(lines.compactMap { Int32($0.split(separator: " ")[0]) })
    }

    /// Throws if the text is not JSON, as one document or one object per line.
    private static func parse(_ text: String) throws {
        if (try? JSONSerialization.jsonObject(with: Data(text.utf8))) != nil { return }
        for line in text.split(separator: "\n") {
            _ = try JSONSerialization.jsonObject(with: Data(line.utf8))
        }
    }

    /// An environment with a journal of one line, whatever this machine has.
    private static func surroundings(_ directory: TemporaryDirectory) throws -> [String: String] {
        let script = try directory.write(
            """
            #!/bin/sh
            case "$*" in
            *json*) echo '{"MESSAGE":"relayd started"}' ;;
            *) echo 'relayd started' ;;
            esac

            """, to: "journalctl")
        chmod(script, 0o755)
        let path = Program.environment()["PATH"] ?? "/usr/bin:/bin"
        return ["PATH": "\(directory.path):\(path)"]
    }

    @Test("each has a row in this walk") func complete() async throws {
        try await TemporaryDirectory.run { directory in
            let walked = Self.walks(port: 1, directory: directory).map(\.name)
            let names = try await Self.names()
            #expect(walked.sorted() == names.sorted() && !names.isEmpty)
        }
    }

    @Test("with relayd each ends with 0, prints text, and with --json nothing but JSON")
    func json() async throws {
        try await Relayd.run(
            accessory: "sim:", config: "drive:\n  enabled: true\n",
            ["--dashboard", "127.0.0.1:0"]
        ) { relayd in
            let environment = try Self.surroundings(relayd.directory).merging([
                ControlSocket.environmentVariable: relayd.controlSocket
            ]) { $1 }
            try await relayd.until("open") { $0.accessory.state == .open }
            for form in [[], ["--json"]] {
                // The link and the app that the walk acts on.
                _ = try await relayd.relayctl("server", "on")
                try await relayd.until("open") { $0.accessory.state == .open }
                let app = try await relayd.connectApp()
                try await app.send(.startService())
                let session = try await app.next().sessionID
                try await app.send(
                    .rpc(
                        session: session, .request, .registerAppInterface, correlation: 1,
                        json: Self.registration))
                let status = try await relayd.until("registered") { status in
                    status.apps.contains { $0.state == .registered }
                }
                let number = "\(status.apps.first?.id ?? 0)"
                for walk in Self.walks(port: relayd.port, directory: relayd.directory) {
                    let arguments = walk.arguments.map {
                        $0 == "1" && walk.name != "show" ? number : $0
                    }
                    let done = try await Program.relayctl.run(
                        [walk.name] + arguments + form, environment: environment)
                    guard !walk.isScreen else {
                        #expect(done.ending == .exited(64) && done.output.isEmpty)
                        let words = form.isEmpty ? "needs a terminal" : "relayctl stats --json"
                        #expect(done.errors.contains(words), "\(walk.name): \(done.errors)")
                        continue
                    }
                    guard !walk.isOfVehicles else {
                        #expect(done.ending == .exited(3) && done.output.isEmpty)
                        #expect(done.errors.contains("is an SDL head unit"), "\(done.errors)")
                        continue
                    }
                    #expect(
                        done.ending == .exited(0),
                        "\(walk.name) \(form): \(done.output) \(done.errors)")
                    #expect(!done.output.isEmpty || walk.name == "advice", "\(walk.name) \(form)")
                    guard !form.isEmpty else { continue }
                    #expect(throws: Never.self, "\(walk.name): \(done.output)") {
                        try Self.parse(done.output)
                    }
                }
                await app.close()
            }
        }
    }

    @Test("without relayd each ends with a code its help documents, and a wrong option with 64")
    func exitCodes() async throws {
        try await TemporaryDirectory.run { directory in
            let environment = try Self.surroundings(directory).merging([
                ControlSocket.environmentVariable: directory.file("nobody.sock")
            ]) { $1 }
            // Nothing listens on port 1: the sample app is refused.
            for walk in Self.walks(port: 1, directory: directory) {
                let help = try await Program.relayctl.run([walk.name, "--help"])
                #expect(help.ending == .exited(0))
                #expect(help.output.contains("USAGE: relayctl \(walk.name)"))
                let codes = Self.documentedCodes(help.output)
                #expect(codes.isSuperset(of: [0, walk.alone, 64]), "\(walk.name): \(codes)")
                #expect(help.output.contains("--json"), "\(walk.name)")

                let alone = try await Program.relayctl.run(
                    [walk.name] + walk.arguments, environment: environment)
                #expect(alone.ending == .exited(walk.alone), "\(walk.name): \(alone.errors)")
                if walk.alone == 2, walk.name == "replay" {
                    #expect(alone.errors.contains("cannot connect to 127.0.0.1:1"))
                } else if walk.alone == 2, walk.name != "doctor", walk.name != "bugreport" {
                    #expect(alone.errors.contains("relayd is not running"), "\(walk.name)")
                    #expect(alone.output.isEmpty, "\(walk.name)")
                }
                let wrong = try await Program.relayctl.run([walk.name, "--frobnicate"])
                #expect(wrong.ending == .exited(64), "\(walk.name)")
            }
        }
    }
}
