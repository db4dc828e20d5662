import ArgumentParser

/// `relayctl trace merge`: merge several traces of one relayd.
struct TraceMergeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge",
        abstract: "Merge several traces of one relayd into one, by time.",
        discussion: """
            Use it for the files of a ring, and for recordings that follow each other or overlap: \
            what is in several of them is written once. Traces of different relayds are refused if \
            they overlap, because both number their apps and sessions from 1, so that they could \
            not be told apart in one trace.

            EXAMPLES
              relayctl trace merge bench-1.pcapng bench-2.pcapng -o bench.pcapng

            \(TraceCommand.exitCodes)
            """)

    @Argument(
        help: ArgumentHelp("The traces, in any order.", valueName: "file"),
        completion: .file(extensions: ["pcapng"]))
    var files: [String]

    @OptionGroup var made: NewTraceOptions

    /// All files are open while they are merged.
    private static let maximumFiles = 256

    func validate() throws {
        for file in files { try TraceArguments.check(file) }
        guard (2...Self.maximumFiles).contains(files.count) else {
            throw ValidationError(
                "\(Units.count(files.count, "trace")) to merge; expected 2 to \(Self.maximumFiles)")
        }
    }

    func run() throws {
        try TraceFailure.told {
            var merge = try TraceMerge(files)
            try made.tell(merge.write(to: made.path))
        }
    }
}
