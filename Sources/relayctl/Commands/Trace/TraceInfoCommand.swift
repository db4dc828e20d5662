import ArgumentParser
import ControlAPI
import DecodedTraces
import Traces

/// `relayctl trace info`: show what is in a trace.
struct TraceInfoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info",
        abstract: "Show what is in a trace: when, who, how much, and what went wrong.",
        discussion: """
            Shows when it was recorded and by what, the head unit, links, apps, frames and bytes by \
            service, what was not passed on and why, gaps, advice and marks, and whether the file was \
            closed.

            EXAMPLES
              relayctl trace info bench.pcapng
              relayctl trace info bench-1.pcapng bench-2.pcapng
              relayctl trace info bench.pcapng --json | jq '.apps[].name'

            \(TraceCommand.exitCodes)
            """)

    @Argument(
        help: ArgumentHelp(
            "The trace, or several files of one recording, the oldest first.", valueName: "file"),
        completion: .file(extensions: ["pcapng"]))
    var files: [String]

    @OptionGroup var output: OutputOptions

    func validate() throws {
        for file in files { try TraceArguments.check(file) }
    }

    func run() throws {
        try TraceFailure.told {
            var survey = TraceSurvey()
            var failure: TraceFileError?
            do throws(TraceFileError) {
                for path in files { try survey.read(path) }
            } catch {
                // Shows what was read before the error.
                guard survey.hasEntries else { throw error }
                failure = error
            }
            let report = survey.report
            let json = String(decoding: try APICoding.encode(report), as: UTF8.self)
            output.show(json, as: { TraceText(output).render(report) })
            if let failure { throw failure }
        }
    }
}
