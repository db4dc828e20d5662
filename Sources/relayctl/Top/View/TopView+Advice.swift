// What is wrong at the moment, on the screen of `top`.

import ControlAPI

extension TopView {
    /// What is wrong now, newest first: one line each, and one with the remedy.
    func advice(
        _ model: TopModel, _ status: StatusSnapshot, _ now: Timestamp, room: Int
    ) -> [String] {
        let current = model.advice.filter { $0.isCurrentWarning(at: now) }
        guard !current.isEmpty, room >= 6 else { return [] }
        var lines: [String] = []
        for advice in current {
            let app = advice.appName.map(SafeText.clean) ?? advice.app.map { "app \($0)" }
            let times = advice.count > 1 ? "×\(advice.count)  " : ""
            let words = "\(app.map { "\($0): " } ?? "")\(SafeText.line(advice.text))"
            lines.append(
                style(.dim, "  \(localTime.timeOfDay(advice.lastAt))  ")
                    + style(.yellow, "\(times)\(words)"))
            lines.append(
                "            → \(SafeText.line(advice.remedy))  (\(SafeText.clean(advice.code)))")
        }
        let title = "  Advice (\(current.count))"
        return [rule(title, "a shows it whole", width: columns)]
            + lines.prefix(max(2, room / 3 - 1))
    }
}
