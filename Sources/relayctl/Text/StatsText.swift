import ControlAPI

/// A report of counts as text: what went through, what was asked, how long it took.
/// `Commands/Stats.swift` prints it.
struct StatsText: Sendable {
    let width: Int
    /// Lines there is room for.
    let rows: Int
    let style: Style

    init(width: Int, rows: Int = .max, style: Style = .plain) {
        self.width = width
        self.rows = max(rows, 5)
        self.style = style
    }

    /// - Parameter before: An earlier report; what was counted since becomes rates.
    func render(_ stats: StatsReport, since before: StatsReport? = nil) -> String {
        var lines = traffic(stats, before)
        lines += functions(stats)
        let others = Units.sum(stats.dropped.values)
        if others > 0 || stats.unanswered > 0 || stats.unseen > 0 {
            let sentence =
                "\(Units.count(others, "frame")) not forwarded, "
                + "\(Units.count(stats.unanswered, "request")) unanswered, "
                + "\(Units.count(stats.unseen, "frame")) not counted here"
            var words = Paragraph.words(sentence, used: 2, width: width, indent: 2)
            words[0] = "  " + words[0]
            lines += [""] + words
        }
        return lines.prefix(rows).map { $0 + "\n" }.joined()
    }

    private func traffic(_ stats: StatsReport, _ before: StatsReport?) -> [String] {
        guard !stats.traffic.isEmpty else { return ["no traffic yet"] }
        let lanes = stats.traffic
        func cells(_ cell: (LaneReport) -> String) -> [String] {
            lanes.map { SafeText.clean(cell($0)) }
        }
        var columns: [Table.Column] = [
            .init("App", cells { $0.app == "unregistered" ? "(not registered)" : $0.app }),
            .init("Service", cells(\.service)),
            .init("From", cells { $0.from == "app" ? "app" : "head unit" }),
            .init("Frames", cells { "\($0.frames)" }, alignRight: true),
            .init("Bytes", cells { Units.bytes($0.bytes) }, alignRight: true),
        ]
        if let before, stats.at > before.at {
            let seconds =
                Double(stats.at.millisecondsSince1970 - before.at.millisecondsSince1970) / 1000
            let rates = lanes.map { lane in
                let old = before.traffic.first {
                    $0.app == lane.app && $0.service == lane.service && $0.from == lane.from
                }
                let bytes = max(0, Double(lane.bytes) - Double(old?.bytes ?? 0)) / seconds
                return Units.bytes(Int(min(bytes, 1e15))) + "/s"
            }
            columns.append(.init("Rate", rates, alignRight: true))
        }
        return Table(columns).fitted(
            to: width, [.shorten("App", to: 12), .drop("Frames"), .drop("App")]
        ).lines(style)
    }

    private func functions(_ stats: StatsReport) -> [String] {
        guard !stats.functions.isEmpty else { return [] }
        func cells(_ cell: (FunctionReport) -> String) -> [String] {
            stats.functions.map { SafeText.clean(cell($0)) }
        }
        func time(_ milliseconds: Double?) -> String {
            milliseconds.map { "\(($0 * 10).rounded() / 10) ms" } ?? "–"
        }
        let table = Table([
            .init("RPC", cells(\.function)),
            .init("Requests", cells { "\($0.requests)" }, alignRight: true),
            .init("Failed", cells { "\(Self.failures($0))" }, alignRight: true),
            .init("Notifications", cells { "\($0.notifications)" }, alignRight: true),
            .init("Mean", cells { time($0.meanMilliseconds) }, alignRight: true),
            .init("Longest", cells { time($0.maximumMilliseconds) }, alignRight: true),
        ]).fitted(
            to: width,
            [
                .drop("Notifications"), .drop("Mean"), .shorten("RPC", to: 16), .drop("Longest"),
                .drop("Failed"),
            ])
        return [""] + table.lines(style)
    }

    /// Responses with a result that means the request was not carried out.
    private static func failures(_ function: FunctionReport) -> Int {
        let successes: Set = [
            "SUCCESS", "WARNINGS", "WRONG_LANGUAGE", "RESUME_FAILED", "SAVED", "TRUNCATED_DATA",
        ]
        return Units.sum(function.results.filter { !successes.contains($0.key) }.values)
    }
}
