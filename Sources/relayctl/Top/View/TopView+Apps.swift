// The apps of `top`: which ones are connected, and their traffic.

import ControlAPI

extension TopView {
    func apps(
        _ model: TopModel, _ status: StatusSnapshot, room: Int, width: Int
    ) -> [String] {
        guard room >= 2 else { return [] }
        var apps = status.apps[...]
        let isCut = apps.count > room - 1
        if isCut { apps = apps.prefix(room - 2) }
        let rows = apps.map { Row(app: $0, model, status) }
        func cells(_ cell: (Row) -> String) -> [String] { rows.map(cell) }
        let table = Table([
            .init("#", cells { "\($0.app.id)" }, alignRight: true, minimum: 2),
            .init(
                "App", cells(\.name), minimum: 16,
                renditions: cells { Style.rendition(colourOf: $0.app.id) }),
            .init(
                "HMI", cells { $0.app.hmiLevel.map(SafeText.clean) ?? "–" }, minimum: 10,
                renditions: cells { Self.look(ofLevel: $0.app.hmiLevel) }),
            .init("From app", cells { Self.rate($0.rpcs?.fromApp) }, alignRight: true),
            .init("To app", cells { Self.rate($0.rpcs?.toApp) }, alignRight: true, minimum: 6),
            .init(
                "Traffic", cells { $0.bytes.map(Self.rate(bytes:)) ?? "–" }, alignRight: true,
                minimum: 12),
            .init("p50", cells { Self.time($0.times?.p50) }, alignRight: true, minimum: 7),
            .init("p95", cells { Self.time($0.times?.p95) }, alignRight: true, minimum: 7),
            .init(
                "Queue", cells { $0.app.queueBytes > 0 ? Units.bytes($0.app.queueBytes) : "–" },
                alignRight: true, renditions: cells { $0.app.queueBytes > 0 ? "33" : "" }),
        ]).fitted(
            to: width,
            [
                .dropIfAll("Queue", "–"), .shorten("App", to: 16), .drop("#"),
                .shorten("App", to: 12), .drop("p50"), .shorten("HMI", to: 7), .drop("Traffic"),
                .drop("p95"), .shorten("App", to: 8), .drop("Queue"),
            ])
        var lines = [rule(table.heading, width: width)] + table.rows(style)
        if status.apps.isEmpty { lines.append(style(.dim, "  no app is connected")) }
        if isCut {
            lines.append(
                style(.dim, "  and \(Units.count(status.apps.count - apps.count, "more app"))"))
        }
        return lines
    }

    /// An app with its numbers.
    private struct Row {
        let app: AppStatus
        let name: String
        var rpcs: TopRates.Messages?
        var bytes: Double?
        var times: TopLatencies.Quantiles?

        init(app: AppStatus, _ model: TopModel, _ status: StatusSnapshot) {
            self.app = app
            name = SafeText.clean(StatusText.appName(app))
            bytes = model.rates.bytes(ofApp: app.id)
            // Counted by name, so apps that share a name cannot be told apart.
            guard let counted = app.appName,
                status.apps.count(where: { $0.appName == counted }) == 1
            else { return }
            rpcs = model.rates.messages(ofApp: counted)
            times = model.latencies.quantiles(app: SafeText.clean(counted))
        }
    }
}
