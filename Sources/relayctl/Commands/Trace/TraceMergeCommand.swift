import ArgumentParser

/// `relayctl trace merge`: several traces of one relayd as one.
struct TraceMergeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge",
        abstract: "Write several traces of one relayd as one, by time.",
        discussion: """
            For the files of a ring, and for recordings that follow each other or overlap: what several of \
            them have is written once. Traces of different relayds are refused where they overlap, because \
            both count their apps and sessions from 1 and nobody could tell them apart in one trace.

            EXAMPLES
              relayctl trace merge bench-1.pcapng bench-2.pcapng -o bench.pcapng

            \(TraceCommand.exitCodes)
            """)

    @Argument(
        help: ArgumentHelp("The traces, in any order.", valueName: "file"),
        completion: .file(extensions: ["pcapng"]))
    var files: [String]

    @OptionGroup var made: NewTraceOptions

    /// Each is open while they are merged.
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
