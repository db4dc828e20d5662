import ArgumentParser
import ControlAPI
import Glibc
import Scenarios

/// `relayctl run`: run scenarios against a running relayd, for people and for build servers.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run scenarios: dialogues with an app that must go as they are written.",
        discussion: """
            A scenario is a YAML file of steps: wait for an RPC, check its parameters, answer it, press a button, \
            slow down the link. Each is run against the running relayd, one after the other, whatever its head \
            unit is; what a scenario adds is taken back at its end. A failed step shows what was expected (-) and \
            what came (+). Ready scenarios are named without .yaml: relayctl scenario list shows them.

            relayd must have drive.enabled, and be yours: see Documentation/scenarios.md.

            EXAMPLES
              relayctl run login.yaml
              relayctl run soft-buttons low-memory --app "My Radio"
              relayctl run tests/*.yaml --junit results.xml --record traces

            EXIT CODES
              0   all scenarios have passed
              1   a step of a scenario has failed
              2   a scenario or the bench could not be used
              64  the command line was not understood
              74  the report cannot be written
            """)

    @Argument(
        help: ArgumentHelp("Files, or names of ready scenarios.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"]))
    var files: [String]

    @Option(
        help: ArgumentHelp(
            "The app that the scenario is about, by its name; ROLE=NAME for one of several. Repeatable.",
            valueName: "name"))
    var app: [String] = []

    @Option(
        name: .customLong("set"),
        help: ArgumentHelp(
            "A value for one of the scenario's variables. Repeatable.", valueName: "name=value"))
    var assignments: [String] = []

    @Option(
        help: ArgumentHelp("Write the results as JUnit XML.", valueName: "file"),
        completion: .file(extensions: ["xml"]))
    var junit: String?

    @Option(
        help: ArgumentHelp(
            "Write a trace of each scenario into this directory.", valueName: "directory"),
        completion: .directory)
    var record: String?

    @Flag(help: "Allow towards a real head unit what may hurt its other apps.")
    var mayHarmOthers = false

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func validate() throws {
        for text in assignments where !text.contains("=") || text.hasPrefix("=") {
            throw ValidationError(
                "--set is \"\(SafeText.clean(text))\"; expected NAME=VALUE, e.g. --set patience=30s"
            )
        }
        for text in app where text.isEmpty || text.hasPrefix("=") || text.hasSuffix("=") {
            throw ValidationError(
                "--app is \"\(SafeText.clean(text))\"; expected the name of an app, or ROLE=NAME")
        }
        for text in files where text.isEmpty || text == "-" {
            throw ValidationError(
                "<file> is \"\(text)\"; expected the path of a scenario, or the name of a ready one"
            )
        }
    }

    func run() async throws {
        let client = try socket.client()
        let output = Output.current
        let text = ScenarioRunText(style: output.style(self.output.color))
        var results: [ScenarioResult] = []
        let interruption = ScenarioInterruption()
        let unreachable = await problem(of: client)
        await interruption.during {
            for (index, file) in files.enumerated() where interruption.signal == nil {
                if let unreachable {
                    results.append(ScenarioResult(file: file, problem: unreachable))
                    continue
                }
                let result = await self.result(of: file, index, client, text, interruption)
                results.append(result)
                if !self.output.json { output.write(text.ending(result)) }
            }
        }
        if let unreachable {
            output.write("relayctl: \(unreachable)\n", to: .error)
        } else if self.output.json {
            output.write(JSONText.safe(try ScenarioReport(results).json))
        } else if results.count > 1 {
            output.write(text.total(results))
        }
        if let junit { try write(JUnitReport.xml(results), to: junit) }
        if let signal = interruption.signal { OwnSignal.send(signal) }
        let code = ScenarioResult.Outcome.exitCode(results.map(\.outcome))
        guard code == 0 else { throw ExitCode(code) }
    }

    /// Why relayd cannot be asked at all; nil when it can.
    private func problem(of client: ControlClient) async -> String? {
        do {
            _ = try await client.status()
            return nil
        } catch {
            return "\(error)"
        }
    }

    private func result(
        of file: String, _ index: Int, _ client: ControlClient, _ text: ScenarioRunText,
        _ interruption: ScenarioInterruption
    ) async -> ScenarioResult {
        let name = SafeText.clean(file)
        let output = Output.current
        do {
            var scenario = try ScenarioLibrary.scenario(file)
            try choose(&scenario)
            let values = try values(of: scenario)
            var runner = ScenarioRunner(
                client: client, scenario: scenario, file: name, values: values,
                mayHarmOthers: mayHarmOthers, recording: try recording(of: file, index))
            if !self.output.json {
                let title = scenario.name
                runner.progress = ScenarioConductor.Progress(
                    begins: { output.write(text.beginning(title, name)) },
                    over: { output.write(text.steps($0)) })
            }
            return await runner.run(interruption)
        } catch {
            if !self.output.json { output.write(text.beginning(name, "")) }
            return ScenarioResult(file: name, problem: error.description)
        }
    }

    // MARK: Choices

    /// Fills in the apps that the command line names.
    private func choose(_ scenario: inout Scenario) throws(ScenarioLibrary.Problem) {
        for text in app {
            do throws(ScenarioChoiceError) { try scenario.choose(app: text) } catch {
                throw ScenarioLibrary.Problem(
                    description: "--app \(SafeText.clean(text)): \(error.message)")
            }
        }
    }

    private func values(
        of scenario: Scenario
    ) throws(ScenarioLibrary.Problem) -> [String: AnyJSON] {
        var values: [String: AnyJSON] = [:]
        for text in assignments {
            do throws(ScenarioChoiceError) {
                let (name, value) = try scenario.value(set: text)
                values[name] = value
            } catch {
                throw ScenarioLibrary.Problem(
                    description: "--set \(SafeText.clean(text)): \(error.message)")
            }
        }
        return values
    }

    /// The trace of a scenario: named after its file, with a number where several files have the same
    /// name.
    private func recording(
        of file: String, _ index: Int
    ) throws(ScenarioLibrary.Problem) -> String? {
        guard let record else { return nil }
        guard mkdir(record, 0o777) == 0 || errno == EEXIST else {
            throw ScenarioLibrary.Problem(
                description:
                    "--record \(SafeText.clean(record)): \(String(cString: strerror(errno)))")
        }
        let name = Self.shortName(file)
        let isShared = files.filter { Self.shortName($0) == name }.count > 1
        return "\(record)/\(name)\(isShared ? "-\(index + 1)" : "").pcapng"
    }

    /// The file's name without directory and extension.
    private static func shortName(_ file: String) -> String {
        let name = file.split(separator: "/").last.map(String.init) ?? "scenario"
        for ending in [".yaml", ".yml"] where name.hasSuffix(ending) && name != ending {
            return String(name.dropLast(ending.count))
        }
        return name
    }

    private func write(_ text: String, to path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        var code = descriptor < 0 ? errno : 0
        if descriptor >= 0 {
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty, code == 0 {
                let count = rest.withUnsafeBytes {
                    Glibc.write(descriptor, $0.baseAddress, $0.count)
                }
                if count > 0 {
                    rest = rest.dropFirst(count)
                } else if errno != EINTR {
                    code = errno
                }
            }
            if close(descriptor) != 0, code == 0 { code = errno }
        }
        guard code != 0 else { return }
        Output.current.write(
            "relayctl: \(SafeText.clean(path)) cannot be written: \(String(cString: strerror(code)))\n",
            to: .error)
        throw ExitCode(ExitStatus.outputFailed.rawValue)
    }
}
