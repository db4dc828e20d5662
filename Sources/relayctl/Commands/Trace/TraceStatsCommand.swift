import ArgumentParser
import ControlAPI
import DecodedTraces
import SDLTraffic
import Traces

/// `relayctl trace stats`: the counts of `stats`, for a trace.
struct TraceStatsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Count a trace: traffic, RPCs, failures, latency, streams.",
        discussion: """
            The tables are those of 'relayctl stats': traffic by app and service, then RPCs by app with \
            how often they were used and failed, and how long answers took.

            Streams have a table of their own. A picture of video is counted where it begins, \
            because app libraries send one in each message. A pause of a second or more is a gap: \
            gaps are counted, their time is not part of the rates, and the longest is shown.

            EXAMPLES
              relayctl trace stats bench.pcapng
              relayctl trace stats bench.pcapng --app radio --rpc Show
              relayctl trace stats bench.pcapng --json | jq '.streams[] | select(.gaps > 0)'

            \(TraceCommand.exitCodes)
            """)

    @Argument(
        help: ArgumentHelp(
            "The trace, or several files of one recording, the oldest first.", valueName: "file"),
        completion: .file(extensions: ["pcapng"]))
    var files: [String]

    @Option(
        help: ArgumentHelp(
            "Only this app: its name or a part of it, in any case. Repeatable.", valueName: "app"))
    var app: [String] = []

    @Option(
        help: ArgumentHelp("Only this RPC, in any case. Repeatable.", valueName: "function"))
    var rpc: [String] = []

    @OptionGroup var output: OutputOptions

    func validate() throws {
        for file in files { try TraceArguments.check(file) }
        try Names.check(app, "--app", example: "a name or a part of it")
        try StatsCommand.check(functions: rpc)
    }

    func run() throws {
        try TraceFailure.told {
            var count = TraceCount()
            var files = TraceFiles(files, onEnd: TraceFailure.tellUnfinished)
            while let entry = try files.nextEntry() { count.receive(entry) }
            let report = count.finish().narrowed(toApps: app, functions: rpc)
            let json = String(decoding: try APICoding.encode(report), as: UTF8.self)
            let screen = Output.current
            output.show(
                json,
                as: {
                    let style = screen.style(output.color)
                    return TraceStatsText(width: screen.size().columns, style: style)
                        .render(report)
                })
        }
    }
}

/// The counts of a trace as text.
struct TraceStatsText: Sendable {
    let width: Int
    let style: Style

    func render(_ report: TraceStatsReport) -> String {
        let streams = table(report.streams).map { $0 + "\n" }.joined()
        let rest = StatsText(width: width, style: style).render(report.counts)
        return streams.isEmpty ? rest : rest + "\n" + streams
    }

    private func table(_ streams: [TraceStatsReport.Stream]) -> [String] {
        guard !streams.isEmpty else { return [] }
        func cells(_ cell: (TraceStatsReport.Stream) -> String) -> [String] {
            streams.map { SafeText.clean(cell($0)) }
        }
        return Table([
            .init("Stream", cells(\.service)),
            .init("App", cells { StatsText.name(app: $0.app) }),
            .init("Pictures", cells { "\($0.messages)" }, alignRight: true),
            .init(
                "Per s",
                cells { $0.messagesPerSecond.map { Self.decimal($0) } ?? "–" }, alignRight: true),
            .init("Bytes", cells { Units.bytes($0.bytes) }, alignRight: true),
            .init(
                "kbit/s",
                cells { $0.bitsPerSecond.map { "\(Int(min(max(0, $0 / 1000), 1e12)))" } ?? "–" },
                alignRight: true),
            .init("Gaps", cells { "\($0.gaps)" }, alignRight: true),
            .init(
                "Longest",
                cells {
                    $0.longestPauseMilliseconds.map { Units.latency(milliseconds: $0) } ?? "–"
                },
                alignRight: true),
        ]).fitted(to: width, [.shorten("App", to: 12), .drop("Pictures"), .drop("App")])
            .lines(style)
    }

    private static func decimal(_ number: Double) -> String {
        let tenths = Int(min(max(0, number * 10), 1e9).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}

extension TraceStatsReport {
    func narrowed(toApps names: [String], functions: [String]) -> TraceStatsReport {
        guard !names.isEmpty || !functions.isEmpty else { return self }
        var narrowed = self
        narrowed.counts = counts.narrowed(toApps: names, functions: functions)
        narrowed.streams =
            functions.isEmpty
            ? streams.filter { stream in names.contains { Names.isPart($0, of: stream.app) } } : []
        return narrowed
    }
}
