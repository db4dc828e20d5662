import ArgumentParser
import ControlAPI

/// `relayctl config`: show the configuration in force, and where each value comes from.
struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Show the configuration in force, and where each value comes from.",
        discussion: """
            Shows the options that are set, and where: a line of the file, an environment variable or a flag.
            With --all, also those at their default.

            EXAMPLES
              relayctl config
              relayctl config --all --json

            \(ExitStatus.codes(ok: "shown"))
            """)

    @Flag(help: "Also show options at their default.")
    var all = false

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func run() async throws {
        let answer = try await socket.client().ask(ConfigReport.self, Routes.config)
        guard !output.json else {
            Output.current.write(JSONText.safe(answer.json))
            return
        }
        defer { Self.tellProblem(of: answer.value.specification) }
        let options = answer.value.options.filter { all || $0.origin != .builtIn }
        guard !options.isEmpty else {
            Output.current.write("every option is at its default; --all shows them\n")
            return
        }
        func cells(_ cell: (ConfigOptionReport) -> String) -> [String] {
            options.map { SafeText.clean(cell($0)) }
        }
        let table = Table([
            .init("Option", cells(\.path)), .init("Value", cells(\.text)),
            .init("From", cells { $0.place ?? $0.origin.rawValue }),
            .init("Default", cells(\.builtInText)),
        ]).fitted(
            to: Output.current.size().columns,
            [
                .drop("Default"), .shortenInMiddle("From", to: 20), .shorten("Value", to: 16),
                .drop("From"),
            ])
        let lines = table.lines(Output.current.style(output.color))
        Output.current.write(lines.map { $0 + "\n" }.joined())
    }

    /// Reports when `rpc_spec` is in force but the file that it names is not used.
    private static func tellProblem(of specification: SpecificationReport?) {
        guard let specification, let problem = specification.problem else { return }
        let text =
            "rpc_spec is not used: \(SafeText.line(problem)); RPCs are compared with the built-in "
            + "specification \(SafeText.clean(specification.version))"
        let lines = Paragraph.words(text, used: 0, width: Output.current.size().columns, indent: 2)
        Output.current.write("\n" + lines.map { $0 + "\n" }.joined())
    }
}
