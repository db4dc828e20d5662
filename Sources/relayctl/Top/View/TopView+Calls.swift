// The RPCs of `top`: the fastest first.

import ControlAPI

extension TopView {
    func calls(
        _ calls: [TopRates.Call], _ model: TopModel, room: Int, width: Int
    ) -> [String] {
        guard room >= 2, !calls.isEmpty else { return [] }
        // Uses all calls, so that columns stay in place while rows change places.
        func cells(_ cell: (TopRates.Call) -> String) -> [String] { calls.map(cell) }
        func times(_ time: (TopLatencies.Quantiles) -> Double) -> [String] {
            cells { call in
                let app = call.app == "unregistered" ? "" : SafeText.clean(call.app)
                let times = model.latencies.quantiles(
                    app: app, function: SafeText.clean(call.function))
                return Self.time(times.map(time))
            }
        }
        let table = Table([
            .init("RPC", cells { SafeText.clean($0.function) }, minimum: 22),
            .init("App", cells { StatsText.name(app: SafeText.clean($0.app)) }, minimum: 12),
            .init("Rate", cells { Self.rate($0.perSecond) }, alignRight: true, minimum: 6),
            .init("p50", times(\.p50), alignRight: true, minimum: 7),
            .init("p95", times(\.p95), alignRight: true, minimum: 7),
            .init("Count", cells { "\($0.count)" }, alignRight: true, minimum: 7),
            .init(
                "Failed", cells { "\($0.failed)" }, alignRight: true,
                renditions: cells { $0.isFailing ? "31" : "" }),
        ]).fitted(
            to: width,
            [
                .drop("Count"), .shorten("App", to: 16), .shorten("RPC", to: 20), .drop("p50"),
                .shorten("App", to: 8), .shorten("RPC", to: 14), .drop("App"), .drop("p95"),
            ])
        return [rule(table.heading, width: width)] + table.rows(style).prefix(room - 1)
    }
}
