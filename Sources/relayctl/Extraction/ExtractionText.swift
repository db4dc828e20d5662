import SDLTraffic

/// The extraction report as text.
struct ExtractionText: Sendable {
    let width: Int
    let style: Style

    func render(_ report: ExtractionReport) -> String {
        guard !report.files.isEmpty || !report.left.isEmpty else {
            return
                "Nothing to extract: the trace has no video, sound or files that were asked for.\n"
        }
        var lines = report.files.isEmpty ? [] : table(report.files)
        let notes = report.files.filter { !$0.problems.isEmpty }
        if !notes.isEmpty {
            if !lines.isEmpty { lines.append("") }
            for item in notes { lines += Self.told(item.file ?? item.kind, item) }
        }
        if !report.left.isEmpty {
            if !lines.isEmpty { lines.append("") }
            lines.append("Not written:")
            for item in report.left { lines += Self.told(Self.name(item), item) }
        }
        if report.more > 0 {
            lines.append("\(Units.count(report.more, "file")) more: there are too many")
        }
        return lines.map { $0 + "\n" }.joined()
    }

    private func table(_ items: [ExtractionReport.Item]) -> [String] {
        func cells(_ cell: (ExtractionReport.Item) -> String?) -> [String] {
            items.map { cell($0).map(SafeText.clean) ?? "–" }
        }
        return Table([
            .init("File", cells(\.file)),
            .init("Kind", cells(\.kind)),
            .init("Format", cells(\.format)),
            .init("App", cells(\.app)),
            .init("Bytes", cells { Units.bytes($0.bytes) }, alignRight: true),
            .init("Time", cells(Self.time), alignRight: true),
            .init("Pictures", cells { $0.pictures.map(String.init) }, alignRight: true),
            .init("CRC", cells(\.crc)),
        ]).fitted(to: width, [.drop("App"), .drop("Format"), .shorten("File", to: 24)]).lines(style)
    }

    /// The duration; nil for files, where it is only the time it took to send them.
    private static func time(_ item: ExtractionReport.Item) -> String? {
        guard item.kind != "file" else { return nil }
        let tenths = Int(min(max(0, item.seconds * 10), 1e9).rounded())
        return "\(tenths / 10).\(tenths % 10) s"
    }

    private static func name(_ item: ExtractionReport.Item) -> String {
        let what = item.title ?? item.kind
        return item.app.map { "\(what) of \($0)" } ?? what
    }

    private static func told(_ name: String, _ item: ExtractionReport.Item) -> [String] {
        item.problems.map { "\(SafeText.clean(name)): \(SafeText.clean($0.text))" }
    }
}
