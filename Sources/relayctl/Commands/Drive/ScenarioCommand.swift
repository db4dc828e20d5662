import ArgumentParser
import ControlAPI
import DecodedTraces
import NIOCore
import SDLProtocol
import SDLTraffic
import Scenarios
import Traces

/// `relayctl scenario`: work with scenarios without running them.
struct ScenarioCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scenario",
        abstract: "List, print and check scenarios, or make one of a trace.",
        discussion: """
            Ready scenarios are named without .yaml wherever a file is expected. Without a command, it lists them; \
            --json prints them as an object. relayd does not have to run. Documentation/scenarios.md describes the \
            language.

            EXAMPLES
              relayctl scenario list
              relayctl scenario show soft-buttons >my-buttons.yaml
              relayctl scenario check my-buttons.yaml
              relayctl scenario from bug.pcapng >bug.yaml

            \(exitCodes)
            """,
        subcommands: [
            ListCommand.self, ShowCommand.self, CheckCommand.self, FromCommand.self,
        ],
        defaultSubcommand: ListCommand.self)

    static let exitCodes = """
        EXIT CODES
          0   done; the scenarios can be used
          2   a scenario is wrong, or a file cannot be read
          64  the command line was not understood
        """

    private static func fail(_ words: String) -> ExitCode {
        Output.current.write("\(words)\n", to: .error)
        return ExitCode(2)
    }

    // MARK: - Ready ones

    struct ListCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Show the ready scenarios.",
            discussion: ScenarioCommand.exitCodes)

        @OptionGroup var output: OutputOptions

        private struct Ready: Encodable {
            var name: String
            var scenario: String
            var about: String?
            var apps: [String]
            var variables: [String: AnyJSON]
        }

        private struct List: Encodable {
            var schema = 1
            var scenarios: [Ready]
        }

        func run() throws {
            let ready = ReadyScenario.all.compactMap { entry -> Ready? in
                guard let scenario = try? ScenarioReader.read(entry.text) else { return nil }
                return Ready(
                    name: entry.name, scenario: scenario.name, about: scenario.about,
                    apps: scenario.apps.map(\.role), variables: scenario.variables)
            }
            try output.show(
                String(
                    decoding: try APICoding.encode(List(scenarios: ready)), as: UTF8.self)
            ) {
                let width = ready.map(\.name.count).max() ?? 0
                return ready.map { entry in
                    let room = String(repeating: " ", count: width - entry.name.count)
                    return "\(entry.name)\(room)  \(entry.scenario)\n"
                }.joined()
            }
        }
    }

    struct ShowCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show",
            abstract: "Print a ready scenario, to read it or to change a copy.",
            discussion: ScenarioCommand.exitCodes)

        @Argument(
            help: "Its name, which relayctl scenario list shows.",
            completion: .list(ReadyScenario.all.map(\.name)))
        var name: String

        func run() throws {
            guard let entry = ReadyScenario.named(name) else {
                throw ScenarioCommand.fail(
                    "relayctl: there is no ready scenario \"\(SafeText.clean(name))\"; there are "
                        + ReadyScenario.all.map(\.name).joined(separator: ", "))
            }
            Output.current.write(entry.text)
        }
    }

    // MARK: - Checking

    struct CheckCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "check",
            abstract: "Say what is wrong with scenarios, without running them.",
            discussion: ScenarioCommand.exitCodes)

        @Argument(
            help: "Files, or names of ready scenarios.",
            completion: .file(extensions: ["yaml", "yml"]))
        var files: [String]

        func run() throws {
            var problems: [String] = []
            for file in files {
                do throws(ScenarioLibrary.Problem) {
                    let scenario = try ScenarioLibrary.scenario(file)
                    let steps = Units.count(scenario.steps.count, "step")
                    Output.current.write(
                        "\(SafeText.clean(file)): \(SafeText.clean(scenario.name)), \(steps)\n")
                } catch {
                    problems.append(error.description)
                }
            }
            guard problems.isEmpty else {
                throw ScenarioCommand.fail(problems.joined(separator: "\n"))
            }
        }
    }

    // MARK: - From a trace

    struct FromCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "from",
            abstract: "Make a scenario from a trace and print it.",
            discussion: """
                The requests of the apps become steps that wait for them, those that the head unit has refused are \
                answered in the same way, and what the driver did is injected. Remove what does not matter, and add \
                what is expected.

                EXAMPLES
                  relayctl scenario from bug.pcapng >bug.yaml
                  relayctl scenario from bug.pcapng --app radio >bug.yaml

                \(ScenarioCommand.exitCodes)
                """)

        @Argument(
            help: ArgumentHelp("The trace; of several files all.", valueName: "file"),
            completion: .file(extensions: ["pcapng"]))
        var files: [String]

        @Option(help: ArgumentHelp("Only this app, by name or app ID.", valueName: "name"))
        var app: String?

        @Option(help: "What the scenario is called. Default: the name of the file.")
        var name: String?

        func run() throws {
            var filter = MessageFilter.everything
            if let app {
                filter.expression = try FilterArgument.filter("app", app, of: "--app")
            }
            let source = files.joined(separator: ", ")
            let title = files.first?.split(separator: "/").last.map(String.init) ?? "a recording"
            var draft = ScenarioDraft(name: name ?? title, source: source)
            var messages = TraceMessages(filter)
            do {
                var files = TraceFiles(files) { path, bytes in
                    TraceFailure.tellUnfinished(path, bytes)
                }
                while let entry = try files.nextEntry() {
                    Self.add(messages.receive(entry), to: &draft)
                }
            } catch {
                throw ScenarioCommand.fail("relayctl: \(SafeText.line("\(error)"))")
            }
            Self.add(messages.finish(), to: &draft)
            Output.current.write(draft.text)
        }

        private static func add(_ events: [TraceMessages.Event], to draft: inout ScenarioDraft) {
            var formatter = MessageFormatter(.json, hasColours: false)
            var line = ByteBuffer()
            for event in events {
                guard case .message(let entry) = event else { continue }
                line.clear()
                formatter.append(entry, to: &line)
                guard let object = try? JSONObject(line), let message = ScenarioMessage(object)
                else { continue }
                draft.add(message)
            }
        }
    }
}
