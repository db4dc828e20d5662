import ArgumentParser
import MessageFilters
import SDLTraffic

/// `relayctl trace`: work with recordings, without relayd.
struct TraceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trace",
        abstract: "Inspect, cut, merge, anonymise, compare, export or extract recordings.",
        discussion: """
            A trace is a recording made by relayd. It is a pcapng file, so Wireshark opens it, \
            too. relayd does not have to run, and '-' in place of a file is standard input. A \
            trace that is still being written, or whose writer was killed, is read up to its last \
            whole packet. Memory does not grow with a trace. Each of the commands takes --help, \
            and all except export take --json.

            No file is ever overwritten, and only you can read the new files (mode 0600).

            EXAMPLES
              relayctl trace info bench.pcapng
              relayctl trace show bench.pcapng 'app:radio !ok'
              relayctl trace cut bench.pcapng --from 10:31 --to 10:33 --app radio -o bug.pcapng
              relayctl trace anonymise bug.pcapng -o bug-to-send.pcapng
              relayctl trace diff good.pcapng bad.pcapng
              relayctl trace extract bench.pcapng -o media

            EXIT CODES
              0   done; of diff: the same conversation
              1   of diff: different conversations
              3   a file cannot be read, is not a trace, or cannot be written
              64  the command line was not understood
            """,
        subcommands: [
            TraceInfoCommand.self, TraceShowCommand.self, TraceCutCommand.self,
            TraceMergeCommand.self, TraceAnonymiseCommand.self, TraceExportCommand.self,
            TraceExtractCommand.self, TraceStatsCommand.self,
            TraceDiffCommand.self,
        ])

    static let exitCodes = """
        EXIT CODES
          0   done
          3   a file cannot be read, is not a trace, or cannot be written
          64  the command line was not understood
        """
}

/// The trace that a command reads, and the filter after it.
///
/// There may be several files, those of a ring, which the shell expands; so an argument that ends as
/// traces do is a file, and the rest is the filter.
struct TraceArguments: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The trace, or several files of one recording that end in .pcapng, the oldest first.",
            valueName: "file"), completion: .file(extensions: ["pcapng"]))
    var file: String

    @Argument(
        help: ArgumentHelp(
            "Only what this filter accepts, such as 'app:radio rpc:On* !ok'. Default: all.",
            valueName: "filter"),
        completion: Completions.filter)
    var filter: [String] = []

    static let fileEnding = ".pcapng"

    var files: [String] { [file] + filter.filter { $0.hasSuffix(Self.fileEnding) } }
    var words: [String] { filter.filter { !$0.hasSuffix(Self.fileEnding) } }

    func validate() throws {
        try Self.check(file)
        try FilterArgument.check(words)
    }

    static func check(_ file: String) throws {
        try Names.check([file], "<file>", example: "the path of a trace, or - for standard input")
    }

    /// The filter made of the words and the options together.
    func filter(_ choice: ChoiceOptions, all: Bool) throws -> MessageFilter {
        var filter = MessageFilter()
        filter.traffic = try TrafficFilter(minimumPriority: all ? .debug : .info)
        filter.traffic.isStrict = true
        filter.expression = try FilterArgument.filter(words).and(try choice.expression())
        return filter
    }
}
