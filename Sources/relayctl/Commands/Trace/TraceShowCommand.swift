import ArgumentParser
import DecodedTraces
import Traces

/// `relayctl trace show`: show the messages of a trace, as `tail` shows those of a running relayd.
struct TraceShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show the messages of a trace.",
        discussion: """
            The lines are those of 'relayctl tail', and so are filters and options: its help has them. \
            Messages are numbered from 1 in the order they were recorded. Notices, advice, marks and gaps \
            that were recorded have lines without a number. --json prints the JSON lines of the control \
            API.

            EXAMPLES
              relayctl trace show bench.pcapng
              relayctl trace show bench.pcapng 'app:radio !ok' -v
              relayctl trace show bench-1.pcapng bench-2.pcapng --pairs
              relayctl trace show bench.pcapng --json | jq 'select(.function == "Show") | .params'

            \(TraceCommand.exitCodes)
            """)

    @OptionGroup var trace: TraceArguments
    @OptionGroup var choice: ChoiceOptions
    @OptionGroup var look: LineOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        try look.check(output)
    }

    func run() async throws {
        let output = Output.current
        let filter = try trace.filter(choice, all: look.all)
        var lines = TraceLines(
            form: look.form(self.output), hasAdvice: !look.noAdvice, isFolding: !look.noFold,
            style: output.style(self.output.color), output: output)
        var messages = TraceMessages(filter)
        try TraceFailure.told {
            var files = TraceFiles(trace.files) { path, bytes in
                TraceFailure.tellUnfinished(path, bytes)
            }
            do {
                while let entry = try files.nextEntry() {
                    guard lines.show(messages.receive(entry)) else { return }
                }
            } catch {
                // Shows everything that was read before the error.
                _ = lines.show(messages.finish())
                lines.finish()
                throw error
            }
            _ = lines.show(messages.finish())
            lines.finish()
        }
    }
}
