import ArgumentParser
import ControlAPI
import Traces

/// `relayctl trace diff`: check whether two traces are the same conversation.
struct TraceDiffCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Tell whether two traces have the same conversation.",
        discussion: """
            For each app, by its name, this compares its requests in order, each with the result \
            code of its answer; the notifications it got, without repetitions; whether it got \
            vehicle data; and the services it started and ended. Times, numbers of apps and \
            sessions, correlation IDs, parameters, heartbeats and streams are not compared. An app \
            that connects again under the same name is compared separately: Radio (2).

            Lines with - are only in the first trace, those with + only in the second; the lines \
            before them are the last that were the same.

            EXAMPLES
              relayctl trace diff good.pcapng bad.pcapng
              relayctl trace diff good.pcapng bad.pcapng --json | jq '.lanes[] | select(.same | not)'

            EXIT CODES
              0   the same conversation
              1   different conversations
              3   a file cannot be read, or is not a trace
              64  the command line was not understood
            """)

    @Argument(
        help: ArgumentHelp("The first trace.", valueName: "first"),
        completion: .file(extensions: ["pcapng"]))
    var first: String

    @Argument(
        help: ArgumentHelp("The second trace.", valueName: "second"),
        completion: .file(extensions: ["pcapng"]))
    var second: String

    @OptionGroup var output: OutputOptions

    func validate() throws {
        for file in [first, second] { try TraceArguments.check(file) }
    }

    func run() throws {
        let report = try TraceFailure.told {
            var diff = TraceDiff(first, second)
            return try diff.run()
        }
        let json = String(decoding: try APICoding.encode(report), as: UTF8.self)
        let style = Output.current.style(output.color)
        output.show(json, as: { report.text(style) })
        if !report.same { throw ExitCode(ExitStatus.notConnected.rawValue) }
    }
}
