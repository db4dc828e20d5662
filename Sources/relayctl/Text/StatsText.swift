import ControlAPI

/// A report of counts as text: traffic, requests, and durations of answers. `Commands/Stats.swift` prints
/// it.
struct StatsText: Sendable {
    let width: Int
    /// Number of lines available.
    let rows: Int
    let style: Style

    init(width: Int, rows: Int = .max, style: Style = .plain) {
        self.width = width
        self.rows = max(rows, 5)
        self.style = style
    }

    /// - Parameter before: An earlier report; counts since then are shown as rates.
    func render(_ stats: StatsReport, since before: StatsReport? = nil) -> String {
        if let vehicle = stats.vehicle {
            let blocks = [self.vehicle(vehicle, stats, before), vehicleNotes(stats)]
            let lines = blocks.filter { !$0.isEmpty }.joined(separator: [""])
            return lines.prefix(rows).map { $0 + "\n" }.joined()
        }
        let calls = stats.apps ?? []
        var blocks = [
            traffic(stats, before, isAll: calls.isEmpty),
            table("RPC", calls.filter { $0.waitsForPeople != true }),
            table("Waits for a person", calls.filter { $0.waitsForPeople == true }),
            others(stats),
        ]
        if stats.apps == nil {
            blocks.append(
                paragraph(
                    "This relayd is older than relayctl and does not count RPCs by app: restart it."
                ))
        }
        let lines = blocks.filter { !$0.isEmpty }.joined(separator: [""])
        return lines.prefix(rows).map { $0 + "\n" }.joined()
    }

    private func traffic(
        _ stats: StatsReport, _ before: StatsReport?, isAll: Bool
    ) -> [String] {
        guard !stats.traffic.isEmpty else { return isAll ? ["no traffic yet"] : [] }
        let lanes = stats.traffic
        func cells(_ cell: (LaneReport) -> String) -> [String] {
            lanes.map { SafeText.clean(cell($0)) }
        }
        var columns: [Table.Column] = [
            .init("App", cells { Self.name(app: $0.app) }),
            .init("Service", cells(\.service)),
            .init("From", cells { $0.from == "app" ? "app" : "head unit" }),
            .init("Frames", cells { "\($0.frames)" }, alignRight: true),
            .init("Bytes", cells { Units.bytes($0.bytes) }, alignRight: true),
        ]
        if let before, let seconds = Self.seconds(stats, since: before) {
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

    /// Nil when no time has passed.
    private static func seconds(_ stats: StatsReport, since before: StatsReport) -> Double? {
        guard stats.at > before.at else { return nil }
        return Double(stats.at.millisecondsSince1970 - before.at.millisecondsSince1970) / 1000
    }

    // MARK: - A vehicle interface

    private func vehicle(
        _ lanes: [VehicleLaneReport], _ stats: StatsReport, _ before: StatsReport?
    ) -> [String] {
        guard !lanes.isEmpty else { return ["no message yet"] }
        var columns: [Table.Column] = [
            .init("From", lanes.map { Self.name(party: $0.from) }),
            .init("Kind", lanes.map { SafeText.clean($0.kind.rawValue) }),
            .init("Messages", lanes.map { "\($0.messages)" }, alignRight: true),
        ]
        if let before, let seconds = Self.seconds(stats, since: before) {
            let rates = lanes.map { lane in
                let old = before.vehicle?.first { $0.kind == lane.kind && $0.from == lane.from }
                let count = max(0, Double(lane.messages) - Double(old?.messages ?? 0))
                return VehicleTables.rate(count / seconds) + "/s"
            }
            columns.append(.init("Rate", rates, alignRight: true))
        }
        return Table(columns).fitted(to: width, [.shorten("From", to: 12)]).lines(style)
    }

    private static func name(party: VehicleParty) -> String {
        switch party {
        case .vehicle: "vehicle interface"
        case .client: "clients"
        case .api: "control API"
        default: SafeText.clean(party.rawValue)
        }
    }

    private func vehicleNotes(_ stats: StatsReport) -> [String] {
        guard stats.unanswered > 0 || stats.unseen > 0 else { return [] }
        return paragraph(
            "\(Units.count(stats.unanswered, "command")) not answered, "
                + "\(Units.count(stats.unseen, "message")) not counted here")
    }

    // MARK: - RPCs

    private func table(_ title: String, _ calls: [AppFunctionReport]) -> [String] {
        guard !calls.isEmpty else { return [] }
        func cells(_ cell: (AppFunctionReport) -> String) -> [String] {
            calls.map { SafeText.clean(cell($0)) }
        }
        func times(_ time: @escaping (AppFunctionReport) -> Double?) -> [String] {
            cells { time($0).map { Units.latency(milliseconds: $0) } ?? "–" }
        }
        let count = cells { "\(Units.sum([$0.requests, $0.notifications]))" }
        return Table([
            .init(title, cells(\.function)),
            .init("App", cells { Self.name(app: $0.app) }),
            .init("Count", count, alignRight: true),
            .init("Failed", cells { "\($0.failed)" }, alignRight: true),
            .init("p50", times(\.p50Milliseconds), alignRight: true),
            .init("p95", times(\.p95Milliseconds), alignRight: true),
            .init("p99", times(\.p99Milliseconds), alignRight: true),
            .init("Max", times(\.maximumMilliseconds), alignRight: true),
        ]).fitted(
            to: width,
            [
                .shorten("App", to: 12), .shorten(title, to: 20), .shorten("App", to: 8),
                .shorten(title, to: 16), .drop("Max"), .drop("Failed"), .drop("p99"),
                .drop("Count"), .drop("App"), .drop("p50"),
            ]
        ).lines(style)
    }

    private func others(_ stats: StatsReport) -> [String] {
        let dropped = Units.sum(stats.dropped.values)
        guard dropped > 0 || stats.unanswered > 0 || stats.unseen > 0 else { return [] }
        let sentence =
            "\(Units.count(dropped, "frame")) not forwarded, "
            + "\(Units.count(stats.unanswered, "request")) unanswered, "
            + "\(Units.count(stats.unseen, "frame")) not counted here"
        return paragraph(sentence)
    }

    private func paragraph(_ sentence: String) -> [String] {
        var words = Paragraph.words(sentence, used: 2, width: width, indent: 2)
        words[0] = "  " + words[0]
        return words
    }

    static func name(app: String) -> String {
        app == "unregistered" ? "(not registered)" : app
    }
}
