import ControlAPI
import DecodedTraces
import Traces

/// The contents of a trace, for people. `TraceInfoCommand` prints it.
struct TraceText: TextPage {
    let layout: TextLayout

    /// Number of notes shown; --json has more.
    private static let maximumNotes = 20

    func render(_ report: TraceReport) -> String {
        let blocks = [
            head(report), table(report.links), table(report.apps), table(report.services),
            troubles(report), notes(report),
        ]
        return blocks.filter { !$0.isEmpty }.joined(separator: [""]).map { $0 + "\n" }.joined()
    }

    private func head(_ report: TraceReport) -> [String] {
        var rows: [(String, String)] = []
        if let from = report.from, let to = report.to {
            let seconds = max(0, to.seconds(since: from))
            rows.append(
                (
                    "recorded",
                    "\(time(from)) to \(time(to)) (\(Units.duration(seconds: seconds)))"
                ))
        }
        rows.append(("head unit", report.accessory))
        for file in report.files { rows.append(("file", words(file))) }
        if report.streams == TraceStreams.headers.rawValue {
            rows.append(("streams", "audio and video without their payload"))
        }
        if !report.masked.isEmpty {
            let frames = Units.count(report.maskedFrames, "frame")
            rows.append(("masked", report.masked.joined(separator: ", ") + " (in \(frames))"))
        }
        rows.append(("from apps", words(report.fromApps)))
        rows.append(("from head unit", words(report.fromHeadUnit)))
        let columns = rows.map(\.0.columns).max() ?? 0
        return rows.map { "  \($0.0.padded(to: columns))  \(SafeText.line($0.1))" }
    }

    private func words(_ file: TraceReport.File) -> String {
        var words = file.path
        if let number = file.number { words += ", number \(number)" }
        if let program = file.program { words += ", by \(program)" }
        if let reason = file.closed {
            words += ", closed: \(reason)"
        } else if file.unfinishedBytes > 0 {
            words +=
                ", not closed: ends in the middle of a packet"
                + " (\(Units.count(file.unfinishedBytes, "byte")) left out)"
        } else {
            words += ", not closed"
        }
        return words
    }

    private func words(_ amount: TraceReport.Amount) -> String {
        "\(Units.count(amount.frames, "frame")), \(Units.bytes(amount.bytes))"
    }

    private func time(_ moment: Timestamp) -> String { localTime.full(moment) }

    private func cells<Row>(_ rows: [Row], _ cell: (Row) -> String?) -> [String] {
        rows.map { SafeText.clean(cell($0) ?? "–") }
    }

    private func table(_ links: [TraceReport.Link]) -> [String] {
        guard !links.isEmpty else { return [] }
        return Table([
            .init("Link", cells(links) { "\($0.number)" }, alignRight: true),
            .init("Address", cells(links, \.address)),
            .init("Opened", cells(links) { $0.openedAt.map(time) }),
            .init("Closed", cells(links) { $0.closedAt.map(time) }),
            .init("Reason", cells(links, \.reason)),
        ]).fitted(to: width, [.shorten("Reason", to: 12), .drop("Reason"), .drop("Closed")])
            .lines(style)
    }

    private func table(_ apps: [TraceReport.App]) -> [String] {
        guard !apps.isEmpty else { return [] }
        return Table([
            .init("App", cells(apps) { "#\($0.app)" }, alignRight: true),
            .init("Name", cells(apps, \.name)),
            .init("From", cells(apps, \.peer)),
            .init("Connected", cells(apps) { $0.connectedAt.map(localTime.exactTimeOfDay) }),
            .init("Left", cells(apps) { $0.leftAt.map(localTime.exactTimeOfDay) }),
            .init(
                "Sessions",
                cells(apps) {
                    $0.sessions.isEmpty
                        ? nil : $0.sessions.map { "\($0)" }.joined(separator: " ")
                }),
            .init("Sent", cells(apps) { Units.bytes($0.sent.bytes) }, alignRight: true),
            .init("Received", cells(apps) { Units.bytes($0.received.bytes) }, alignRight: true),
        ]).fitted(
            to: width,
            [.shorten("Name", to: 16), .drop("From"), .drop("Sessions"), .drop("Left")]
        ).lines(style)
    }

    private func table(_ services: [TraceReport.Service]) -> [String] {
        guard !services.isEmpty else { return [] }
        return Table([
            .init("Service", services.map(\.service)),
            .init("From", services.map { $0.from == "app" ? "app" : "head unit" }),
            .init("Frames", services.map { "\($0.frames)" }, alignRight: true),
            .init("Bytes", services.map { Units.bytes($0.bytes) }, alignRight: true),
        ]).lines(style)
    }

    private func troubles(_ report: TraceReport) -> [String] {
        var lines = report.dropped.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map {
            "not passed on: \(Units.count($0.value, "frame")), \($0.key)"
        }
        if report.garbageBytes > 0 {
            lines.append("bytes that were no frame: \(Units.bytes(report.garbageBytes))")
        }
        if report.gaps > 0 {
            lines.append(
                "not recorded: \(words(report.missed)) in \(Units.count(report.gaps, "gap"))")
        }
        for (what, count) in report.more.sorted(by: { $0.key < $1.key }) {
            lines.append("not listed: \(count) more \(what)")
        }
        return lines.map { "  " + style(.yellow, SafeText.line($0)) }
    }

    private func notes(_ report: TraceReport) -> [String] {
        var lines = report.notes.prefix(Self.maximumNotes).map { note in
            let app = note.app.map { "#\($0) " } ?? ""
            let code = note.code.map { " (\($0))" } ?? ""
            let kind = note.kind == "mark" ? "mark: " : ""
            return "  \(localTime.exactTimeOfDay(note.at)) \(app)"
                + SafeText.line(kind + note.text + code)
        }
        let rest = report.notes.count - lines.count
        if rest > 0 { lines.append("  and \(rest) more: 'relayctl trace show' has all") }
        return lines
    }
}
