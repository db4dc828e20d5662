// The ready-made scenarios, with the built programs, a simulated head unit, and apps that do well or badly.

import ControlAPI
import Foundation
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("The ready scenarios", .serialized) struct ReadyScenarioTests {
    /// - Returns: relayctl's exit code and its output.
    private static func run(
        _ name: String, _ title: String, _ arguments: [String] = [],
        _ body: (Relayd) async throws -> Void
    ) async throws -> (code: ChildProcess.Ending, output: String) {
        var done: (code: ChildProcess.Ending, output: String) = (.exited(99), "")
        try await Relayd.run(accessory: "sim:?lenient=on", config: Relayd.driving) { relayd in
            try await relayd.until("open") { $0.accessory.state == .open }
            let result = try await ScenarioBench.run(relayd, [name] + arguments, title: title) {
                try await body(relayd)
            }
            done = (result.ending, result.output + result.errors)
            // All rules that it added are gone.
            #expect(try await relayd.status().faults == nil)
        }
        return done
    }

    private static let buttons = #"""
        {"mainField1":"Player","softButtons":[{"type":"TEXT","text":"Play","softButtonID":7,\#
        "systemAction":"DEFAULT_ACTION"},{"type":"TEXT","text":"Stop","softButtonID":8,\#
        "systemAction":"DEFAULT_ACTION"}]}
        """#

    @Test("soft-buttons: each is pressed, and the app answers each press")
    func softButtons() async throws {
        let done = try await Self.run(
            "soft-buttons", "presses every soft button", ["--app", "Radio"]
        ) {
            relayd in
            let app = try await ScriptedApp.start(relayd).app
            try await app.ask(.show, Self.buttons)
            for button in 7...8 {
                try await app.hear(.onButtonPress, "\"customButtonID\":\(button)")
                try await app.ask(.show, #"{"mainField2":"button \#(button)"}"#)
            }
        }
        #expect(done.code == .exited(0), "\(done.output)")
        #expect(done.output.contains("✓ 2 each press leads to a request"))
    }

    @Test("soft-buttons: an app that does nothing about the second one fails, and is told which")
    func deadButton() async throws {
        let done = try await Self.run(
            "soft-buttons", "presses every soft button", ["--set", "reaction=20s"]
        ) { relayd in
            let app = try await ScriptedApp.start(relayd).app
            try await app.ask(.show, Self.buttons)
            try await app.hear(.onButtonPress, "\"customButtonID\":7")
            try await app.ask(.show, #"{"mainField2":"button 7"}"#)
            try await app.hear(.onButtonPress, "\"customButtonID\":8")
        }
        #expect(done.code == .exited(1), "\(done.output)")
        #expect(done.output.contains("✗ 2 each press leads to a request"), "\(done.output)")
        #expect(done.output.contains("in repetition 2 of 2, button = 8"), "\(done.output)")
        #expect(done.output.contains("expected: from:app kind:request within 20 s"))
    }

    @Test("permission-withdrawn: an app that has understood does not ask again")
    func permission() async throws {
        let done = try await Self.run(
            "permission-withdrawn", "permission is withdrawn",
            ["--set", "grace=50ms", "--set", "quiet=300ms"]
        ) { relayd in
            let app = try await ScriptedApp.start(relayd).app
            try await app.ask(.show, #"{"mainField1":"Hello"}"#)
            try await app.hear(.onPermissionsChange, #""userDisallowed":["FULL""#)
            try await app.hear(.onPermissionsChange, #""allowed":["FULL","LIMITED","BACKGROUND"]"#)
        }
        #expect(done.code == .exited(0), "\(done.output)")
    }

    @Test("permission-withdrawn: an app that asks all the same fails")
    func stubborn() async throws {
        let done = try await Self.run(
            "permission-withdrawn", "permission is withdrawn",
            ["--set", "grace=10ms", "--set", "quiet=60s"]
        ) { relayd in
            let app = try await ScriptedApp.start(relayd).app
            try await app.ask(.show, #"{"mainField1":"Hello"}"#)
            try await app.hear(.onPermissionsChange, #""userDisallowed":["FULL""#)
            // The app repeats its request until the scenario has seen it.
            while try await relayd.status().faults != nil {
                let answer = try await app.ask(.show, #"{"mainField1":"Hello?"}"#)
                guard answer.contains("USER_DISALLOWED") else { break }
            }
        }
        #expect(done.code == .exited(1), "\(done.output)")
        #expect(done.output.contains("a message came that must not come"), "\(done.output)")
    }

    @Test("reboot-during-putfile: the app comes back at once and uploads again")
    func reboot() async throws {
        let done = try await Self.run("reboot-during-putfile", "reboots during PutFile") { relayd in
            try await relayd.until("answers are lost") { $0.faults?.rules == 1 }
            let first = try await ScriptedApp.start(relayd).app
            try await first.say(.putFile, ScriptedApp.putFile, bulk: 500)
            await first.gone()
            let second = try await ScriptedApp.start(relayd).app
            let answer = try await second.ask(.putFile, ScriptedApp.putFile, bulk: 500)
            #expect(answer.contains(#""success":true"#))
        }
        #expect(done.code == .exited(0), "\(done.output)")
    }

    @Test("low-memory: an app that goes on without the file passes, one that insists fails")
    func lowMemory() async throws {
        let good = try await Self.run("low-memory", "no memory left") { relayd in
            try await relayd.until("there is no room") { $0.faults?.rules == 1 }
            let app = try await ScriptedApp.start(relayd).app
            let answer = try await app.ask(.putFile, ScriptedApp.putFile, bulk: 500)
            #expect(answer.contains(#""resultCode":"OUT_OF_MEMORY""#), "\(answer)")
            try await app.ask(.show, #"{"mainField1":"without a cover"}"#)
        }
        #expect(good.code == .exited(0), "\(good.output)")
        let bad = try await Self.run("low-memory", "no memory left", ["--set", "patience=30s"]) {
            relayd in
            try await relayd.until("there is no room") { $0.faults?.rules == 1 }
            let app = try await ScriptedApp.start(relayd).app
            for _ in 0..<3 { try await app.ask(.putFile, ScriptedApp.putFile, bulk: 500) }
        }
        #expect(bad.code == .exited(1), "\(bad.output)")
        #expect(bad.output.contains("✗ 3 the app goes on without it"), "\(bad.output)")
    }

    @Test("slow-bluetooth: the app registers and shows its screen at 20 KB/s")
    func slow() async throws {
        let done = try await Self.run("slow-bluetooth", "Slow Bluetooth") { relayd in
            try await relayd.until("it is slow") { $0.faults?.rules == 1 }
            let app = try await ScriptedApp.start(relayd).app
            try await app.ask(.show, #"{"mainField1":"at last"}"#)
        }
        #expect(done.code == .exited(0), "\(done.output)")
    }

    @Test("language-change: the app changes its registration")
    func language() async throws {
        let done = try await Self.run(
            "language-change", "changes the language", ["--set", "language=FR-FR"]
        ) { relayd in
            let app = try await ScriptedApp.start(relayd).app
            try await app.ask(.show, #"{"mainField1":"Hello"}"#)
            try await app.hear(.onLanguageChange, "FR-FR")
            try await app.ask(
                .changeRegistration, #"{"language":"FR-FR","hmiDisplayLanguage":"FR-FR"}"#)
        }
        #expect(done.code == .exited(0), "\(done.output)")
    }

    @Test("resumption-wrong-hash: the app comes back with the wrong hash and begins anew")
    func wrongHash() async throws {
        let done = try await Self.run("resumption-wrong-hash", "wrong hash") { relayd in
            let first = try await ScriptedApp.start(relayd).app
            try await first.ask(.show, #"{"mainField1":"Hello"}"#)
            try await first.hear(.onHashChange, "not-a-hash-of-this-head-unit")
            await first.gone()
            let (second, answer) = try await ScriptedApp.start(
                relayd, hashID: "not-a-hash-of-this-head-unit")
            #expect(answer.contains("RESUME_FAILED"))
            try await second.ask(.show, #"{"mainField1":"Hello again"}"#)
        }
        #expect(done.code == .exited(0), "\(done.output)")
    }

    @Test("there are no others, all can be read, and each is in config/scenarios")
    func all() async throws {
        let folder = Checkout.root.appending(path: "config/scenarios").path
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
            .filter { $0.hasSuffix(".yaml") }.sorted()
        let list = try await Program.relayctl.run(["scenario", "list"])
        #expect(
            list.output.split(separator: "\n").compactMap { $0.split(separator: " ").first }
                == files.map {
                    $0.dropLast(5)
                })
        let check = try await Program.relayctl.run(
            ["scenario", "check"] + files.map { "\(folder)/\($0)" })
        #expect(check.ending == .exited(0), "\(check.errors)")
        for file in files {
            let shown = try await Program.relayctl.run(["scenario", "show", "\(file.dropLast(5))"])
            let text = try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
            #expect(shown.output + "\n" == text, "\(file)")
        }
    }
}
