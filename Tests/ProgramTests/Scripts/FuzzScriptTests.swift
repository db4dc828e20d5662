// Scripts/fuzz from outside, with a stand-in for the fuzzer: what it accepts as a number, what it adds
// up, and that it leaves nothing running.

import Foundation
import Glibc
import RelayTesting
import Testing

@Suite("Scripts/fuzz") struct FuzzScriptTests {
    private static let script = Checkout.root.appending(path: "Scripts/fuzz").path

    /// Two targets that end at once, one with a dictionary; two that find something; and one that goes
    /// on until SIGTERM, as libFuzzer does. Prints its options to the log.
    private static let standIn = """
        #!/bin/bash
        case "$1" in
        --list) printf '%s\\tabout\\tpromise\\n' one two broken crashing endless; exit 0 ;;
        --words) [[ $2 != two ]] || echo '"word"'; exit 0 ;;
        --unpack) exit 0 ;;
        esac
        echo "options: $*"
        printf '#7\tDONE cov: 12 ft: 30 corp: 2/9b\n'
        [[ $RELAY_FUZZ_TARGET == crashing ]] || echo "stat::number_of_executed_units: 7"
        case "$RELAY_FUZZ_TARGET" in
        broken) echo "broken promise of broken: it is not"; exit 77 ;;
        crashing) kill -SEGV $$ ;;
        endless)
            trap 'exit 72' TERM
            echo $$ >"$RELAY_FUZZ_FOLDER/pid"
            while :; do sleep 0.05; done
            ;;
        esac
        """

    /// Runs `body` with the environment that Scripts/fuzz needs, and its folder.
    private func withStandIn(
        _ body: (_ environment: [String: String], _ folder: String) async throws -> Void
    ) async throws {
        try await TemporaryDirectory.run { directory in
            let program = try directory.write(Self.standIn, to: "fuzzer")
            chmod(program, 0o755)
            let folder = directory.file("folder")
            defer { try? FileManager.default.removeItem(atPath: folder) }
            mkdir(folder, 0o755)
            mkfifo("\(folder)/pid", 0o600)
            var environment = Program.environment()
            environment["RELAY_FUZZ_PROGRAM"] = program
            environment["RELAY_FUZZ_FOLDER"] = folder
            try await body(environment, folder)
        }
    }

    @Test(
        "refuses what is no number, and says what it expects",
        arguments: [
            ["--minutes", "x"], ["--minutes", "0"], ["--minutes", "0.0"], ["--minutes", "-1"],
            ["--minutes", "1e3"], ["--minutes", ".5"], ["--minutes"], ["--runs", "1.5"],
            ["--runs", "0"], ["--runs", ""], ["-j", "0"], ["--jobs", "two"],
        ])
    func nonsense(arguments: [String]) async throws {
        try await withStandIn { environment, _ in
            let refused = try await ChildProcess.run(
                Self.script, arguments, environment: environment)
            #expect(refused.ending == .exited(64))
            #expect(refused.output == "")
            #expect(refused.errors.hasPrefix("Scripts/fuzz: \(arguments[0]) needs a "))
            #expect(refused.errors.hasSuffix(", not \"\(arguments.dropFirst().first ?? "")\""))
        }
    }

    @Test(
        "the time and the number of executions reach the fuzzer",
        arguments: [
            ([], ["-max_total_time=60", "-runs=-1"]),
            (["--minutes", "0.1"], ["-max_total_time=6", "-runs=-1"]),
            (["--minutes", "0.01"], ["-max_total_time=1", "-runs=-1"]),
            (["--minutes", "90"], ["-max_total_time=5400", "-runs=-1"]),
            (["--runs", "1000"], ["-max_total_time=0", "-runs=1000"]),
            (["--runs", "5", "--minutes", "2.5"], ["-max_total_time=150", "-runs=5"]),
            (["--replay"], ["-runs=0"]),
        ])
    func numbers(arguments: [String], options: [String]) async throws {
        try await withStandIn { environment, folder in
            let done = try await ChildProcess.run(
                Self.script, arguments + ["one"], environment: environment)
            #expect(done.ending == .exited(0), "\(done.errors)")
            let log = try String(contentsOfFile: "\(folder)/logs/one.log", encoding: .utf8)
            let words = log.split(whereSeparator: \.isWhitespace).map(String.init)
            for option in options { #expect(words.contains(option), "\(log)") }
        }
    }

    @Test("a dictionary is given where there is one: libFuzzer refuses an empty file")
    func dictionary() async throws {
        try await withStandIn { environment, folder in
            let done = try await ChildProcess.run(
                Self.script, ["one", "two"], environment: environment)
            #expect(done.ending == .exited(0), "\(done.errors)")
            let one = try String(contentsOfFile: "\(folder)/logs/one.log", encoding: .utf8)
            #expect(!one.contains("-dict="))
            let two = try String(contentsOfFile: "\(folder)/logs/two.log", encoding: .utf8)
            #expect(two.contains(" -dict=\(folder)/two.words"))
        }
    }

    @Test("each target has a line, and all together have one")
    func together() async throws {
        try await withStandIn { environment, _ in
            let done = try await ChildProcess.run(
                Self.script, ["one", "two", "broken", "crashing", "-j", "2"],
                environment: environment)
            #expect(done.ending == .exited(1))
            #expect(done.output.contains(try Self.line("one", "nothing found")))
            #expect(done.output.contains(try Self.line("two", "nothing found")))
            #expect(done.output.contains(try Self.line("broken", "FOUND SOMETHING")))
            #expect(done.output.contains(try Self.line("crashing", "FOUND SOMETHING")))
            #expect(done.output.contains("    broken promise of broken: it is not"))
            #expect(done.output.contains(#/(?m)^together +28 executions +[0-9]+ s$/#))
        }
    }

    private static func line(_ target: String, _ outcome: String) throws -> Regex<Substring> {
        try Regex("(?m)^\(target) +7 executions +[0-9]+ s +12 edges  \(outcome)")
    }

    @Test("ends the fuzzers when it is ended, and still says what they have done")
    func interrupted() async throws {
        try await withStandIn { environment, folder in
            let script = try await ChildProcess.start(
                Self.script, ["one", "endless"], environment: environment)
            defer { script.signal(SIGKILL) }
            try await script.output.first(containing: "one ")
            // Returns once the fuzzer is there.
            let told = try await ChildProcess.run(
                "cat", ["\(folder)/pid"], environment: environment)
            let pid = try #require(pid_t(told.output))
            script.signal(SIGINT)
            #expect(try await script.ended() == .exited(130))
            let output = try await script.output.untilEnd().joined(separator: "\n")
            #expect(output.contains(try Self.line("endless", "nothing found")), "\(output)")
            #expect(output.contains(#/together +14 executions/#), "\(output)")
            #expect(kill(pid, 0) == -1 && errno == ESRCH)
        }
    }

    @Test("a target that is not there is refused with those that are")
    func unknown() async throws {
        try await withStandIn { environment, _ in
            let refused = try await ChildProcess.run(
                Self.script, ["three"], environment: environment)
            #expect(refused.ending == .exited(64))
            #expect(
                refused.errors
                    == "Scripts/fuzz: there is no target three; known: one two broken crashing endless"
            )
        }
    }
}
