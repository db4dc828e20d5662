// The blocks of commands on the committed pages, run as a user would type them: relayd and relayctl are the
// built ones, with a bench of the simulated head unit and an app. Programs that would change the machine, or
// ask another one, are replaced by stand-ins that record their calls, and the calls are checked.

import ControlAPI
import Foundation
import Glibc
import RelayTesting
import Testing

@Suite("The commands on the pages") struct CommandBlockTests {
    /// Blocks that are not run: a word in each, and the reason.
    private static let notRun: [(page: String, with: String, reason: String)] = [
        ("Sources/ControlAPI/API.md", "curl", "APIDocumentTests runs each of them"),
        (
            "Documentation/driving.md", "--app radio",
            "needs drive.enabled; DriveProgramTests has it"
        ),
        (
            "Documentation/driving.md", "relayctl request",
            "needs drive.enabled; RequestCommandTests has it"
        ),
        (
            "Documentation/driving.md", "relayctl stream",
            "needs drive.enabled; StreamProgramTests has it"
        ),
        ("Documentation/driving.md", "--as", "needs drive.enabled; OwnAppTests has it"),
        (
            "Documentation/openxc.md", "relayctl vi latest",
            "needs a vehicle interface; VehicleCommandTests has one"
        ),
        (
            "Documentation/openxc.md", "relayctl record --format openxc",
            "needs a vehicle interface; VehicleCommandTests has one"
        ),
        (
            "Documentation/openxc.md", "openxc-dump",
            "programs of openxc-python, as is openxc-control"
        ),
        (
            "Documentation/faults.md", "relayctl fault",
            "needs drive.enabled; FaultCommandTests has it"
        ),
        (
            "Documentation/scenarios.md", "relayctl run",
            "needs drive.enabled; ReadyScenarioTests has it"
        ),
        (
            "Documentation/scenarios.md", "scenario from",
            "needs a trace; ScenarioProgramTests has one"
        ),
        ("Documentation/traces.md", "ffplay -fflags", "players; MediaTapTests connects as one"),
        ("Documentation/traces.md", "relayctl replay", "ProgramReplayTests has a trace for it"),
        (
            "Documentation/service.md", "/lib/systemd/",
            "a program of another package, by its full path; Tests/System/checks runs both"
        ),
    ]

    /// Programs of others that are replaced by stand-ins.
    private static let standIns = [
        "sudo", "sudoedit", "ssh", "adb", "apt", "systemctl", "journalctl", "git", "swift", "tar",
        "ls",
        "bluetoothctl", "sdptool", "curl", "./swiftly",
    ]

    private static func isRun(_ block: MarkdownPage.Block, of page: MarkdownPage) -> Bool {
        ["sh", "bash"].contains(block.language)
            && !notRun.contains { $0.page == page.path && block.text.contains($0.with) }
    }

    private static let pages: [String] = {
        let pages = (try? MarkdownPage.all()) ?? []
        return pages.filter { page in page.blocks.contains { isRun($0, of: page) } }.map(\.path)
    }()

    // MARK: The surroundings

    /// Records how it was called, one line per call, with its words separated by tabs.
    private static let standIn = """
        #!/bin/sh
        { printf '%s' "${0##*/}"; for word; do printf '\\t%s' "$word"; done; echo; } >>"$CALLS"
        case ${0##*/} in journalctl) echo 'relayd started' ;; esac

        """

    /// In the foreground relayd would run for ever: its command line and configuration are only checked.
    /// With "&" it runs.
    private static let relayd = """
        #!/bin/bash
        if [ $# = 0 ]; then
            exec "$RELAYD" --listen 127.0.0.1:0 --control-socket "$PWD/own.sock"
        fi
        "$RELAYD" --check-config "${@//\\/etc\\/relayd\\/relayd.yaml/$PWD/relayd.yaml}"

        """

    /// Uses the test's bench, whatever socket and port the page names; runs nothing that goes on for ever or fills
    /// a terminal, and opens no browser. No device is plugged in.
    private static let relayctl = """
        #!/bin/bash
        arguments=()
        for word; do
            case $word in
            /run/relayd*.sock | /tmp/bench.sock) word=$RELAYD_SOCKET ;;
            esac
            arguments+=("$word")
        done
        case "$*" in
        tail*--once*) ;;
        tail*) arguments+=(--once) ;;
        log*--unit*) ;;
        log*) arguments+=(--unit relayd) ;;
        sample-app*--connect*) ;;
        sample-app*) arguments+=(--connect "127.0.0.1:$PORT") ;;
        dashboard*--open*) arguments=(dashboard) ;;
        top*) arguments=(status) ;;
        "usb "* | "devices "*)
            "$RELAYCTL" "${arguments[@]}" || [ $? = 1 ]
            exit
            ;;
        esac
        exec "$RELAYCTL" "${arguments[@]}"

        """

    /// A folder with the stand-ins, in which blocks run.
    private struct Surroundings {
        let folder: URL
        var calls: URL { folder.appending(path: "calls") }

        init() throws {
            folder = FileManager.default.temporaryDirectory
                .appending(path: "relayd-blocks-\(UUID())")
            try make("bin/relayd", CommandBlockTests.relayd)
            try make("bin/relayctl", CommandBlockTests.relayctl)
            for name in CommandBlockTests.standIns {
                let isHere = name.hasPrefix("./")
                try make(
                    isHere ? "work/\(name.dropFirst(2))" : "bin/\(name)", CommandBlockTests.standIn)
            }
            let scripts = Checkout.root.appending(path: "Scripts").path
            for name in try FileManager.default.contentsOfDirectory(atPath: scripts) {
                try make("work/Scripts/\(name)", CommandBlockTests.standIn)
            }
            try FileManager.default.copyItem(
                at: Checkout.root.appending(path: "config/relayd.yaml"),
                to: folder.appending(path: "work/relayd.yaml"))
            try Data().write(to: calls)
        }

        private func make(_ path: String, _ script: String) throws {
            let file = folder.appending(path: path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(script.utf8).write(to: file)
            chmod(file.path, 0o755)
        }

        func run(
            _ block: MarkdownPage.Block, with relayd: Relayd
        ) async throws -> ChildProcess.Finished {
            let script = folder.appending(path: "block")
            try Data("cd \(folder.path)/work\n\(block.text)".utf8).write(to: script)
            let path = Program.environment()["PATH"] ?? "/usr/bin:/bin"
            return try await ChildProcess.run(
                "/bin/bash", ["-eu", "-o", "pipefail", script.path],
                environment: Program.environment([
                    "PATH": "\(folder.path)/bin:\(path)", "CALLS": calls.path, "USER": "ann",
                    "RELAYD": try Program.relayd.path(), "RELAYCTL": try Program.relayctl.path(),
                    "RELAYD_SOCKET": relayd.controlSocket, "PORT": "\(relayd.port)",
                ]))
        }

        func remove() { try? FileManager.default.removeItem(at: folder) }
    }

    /// A bench with some activity: "My App" is registered and on the screen.
    private static func bench(_ body: (Relayd) async throws -> Void) async throws {
        try await Relayd.run(accessory: "sim:", ["--dashboard", "127.0.0.1:0"]) { relayd in
            let app = try await Program.relayctl.start([
                "sample-app", "--stay", "--name", "My App", "--app-id", "my-app", "--connect",
                "127.0.0.1:\(relayd.port)",
            ])
            do {
                // Its alert is over: a head unit shows one at a time.
                try await app.output.first(containing: "staying registered")
                try await body(relayd)
            } catch {
                app.signal(SIGKILL)
                _ = try? await app.ended()
                throw error
            }
            app.signal(SIGINT)
            _ = try await app.ended()
        }
    }

    // MARK: The tests

    @Test(
        "each block runs to its end, and calls others as they want to be called", arguments: pages)
    func run(path: String) async throws {
        let page = try #require(try MarkdownPage.all().first { $0.path == path })
        let surroundings = try Surroundings()
        defer { surroundings.remove() }
        try await Self.bench { relayd in
            for block in page.blocks where Self.isRun(block, of: page) {
                let done = try await surroundings.run(block, with: relayd)
                #expect(
                    done.ending == .exited(0),
                    "\(path):\(block.line): \(done.output) \(done.errors)")
            }
        }
        let calls = try String(contentsOf: surroundings.calls, encoding: .utf8)
        for call in calls.split(separator: "\n") {
            let words = call.split(separator: "\t", omittingEmptySubsequences: false)
                .map(String.init)
            if let problem = StandInCalls.problem(words, on: page) {
                Issue.record("\(path): \(words.joined(separator: " ")): \(problem)")
            }
        }
    }

    @Test("a block that does not work would be found") func failing() async throws {
        let surroundings = try Surroundings()
        defer { surroundings.remove() }
        try await Self.bench { relayd in
            for (text, code) in [
                ("relayctl status\nrelayctl app \"My App\"", 0),
                ("relayctl app \"Your App\"\nrelayctl status", 3), ("relayctl statsu", 64),
                ("relayd --acessory sim:", 64), ("relayd --accessory seriell:/dev/ttyS0", 78),
                ("Scripts/nosuch", 127),
            ] as [(String, Int32)] {
                let block = MarkdownPage.Block(line: 1, language: "sh", text: text + "\n")
                let done = try await surroundings.run(block, with: relayd)
                #expect(done.ending == .exited(code), "\(text)")
            }
        }
    }

    @Test("what is not run is there, and the rest is much") func complete() throws {
        let pages = try MarkdownPage.all()
        for entry in Self.notRun {
            let page = pages.first { $0.path == entry.page }
            #expect(
                page?.blocks.contains { $0.text.contains(entry.with) } == true, "\(entry.with)")
        }
        let run = pages.map { page in page.blocks.filter { Self.isRun($0, of: page) }.count }
        #expect(run.reduce(0, +) > 50)
        // Commands must be in blocks marked as such, or they would not be checked.
        for page in pages where page.path != "CHANGELOG.md" {
            for block in page.blocks where block.language.isEmpty {
                #expect(
                    block.text.prefixMatch(of: #/(relayctl|sudo|ssh|relayd -)\b/#) == nil,
                    "\(page.path):\(block.line)")
            }
        }
    }

    @Test("commands of others in the middle of a sentence are as they want to be called")
    func inSentences() throws {
        var count = 0
        for page in try MarkdownPage.all() where page.path != "CHANGELOG.md" {
            // "ssh -L" alone is a name, not a call.
            for span in page.codeSpans where !span.text.contains("…") && span.text != "ssh -L" {
                let words = StandInCalls.words(span.text)
                guard words.count > 1, StandInCalls.isKnown(words[0]) else { continue }
                count += 1
                if let problem = StandInCalls.problem(words, on: page) {
                    Issue.record("\(page.path):\(span.line): \(span.text): \(problem)")
                }
            }
        }
        #expect(count > 40)
    }

    @Test("a wrong call would be found")
    func wrongCalls() {
        let page = MarkdownPage(path: "x.md", text: "")
        for wrong in [
            "ssh -L 2776:127.0.0.1 bench", "ssh -X bench", "ssh -L 2776:127.0.0.1:2776",
            "ssh bench relayctl statsu", "sudo systemctl reload relay", "systemctl relaod relayd",
            "sudo usermod -aG relay ann", "sudo frobnicate", "adb reverse tcp:2776",
            "Scripts/demo --kepp", "Scripts/nosuch", "apt install no-such-package",
            "systemctl enable --now relayd@left.timer", "curl http://127.0.0.1:2781/v1/statsu",
        ] {
            #expect(StandInCalls.problem(StandInCalls.words(wrong), on: page) != nil, "\(wrong)")
        }
    }
}
