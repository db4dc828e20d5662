import ControlAPI
import NIOCore
import RelayCore

/// Fault rules as text for people.
struct FaultText {
    let width: Int
    let style: Style

    init(width: Int, style: Style) {
        (self.width, self.style) = (width, style)
    }

    init(_ output: OutputOptions) {
        self.init(
            width: Output.current.size().columns, style: Output.current.style(output.color))
    }

    func list(_ list: FaultList) -> String {
        guard !list.rules.isEmpty else {
            return "There are no fault rules; 'relayctl fault add FILTER ACTION' adds one.\n"
        }
        let held =
            list.heldFrames > 0
            ? "\(Units.count(list.heldFrames, "frame")) held (\(Units.bytes(list.heldBytes)))\n"
            : ""
        return table(list.rules) + held
    }

    func added(_ list: FaultList) -> String {
        let rules = list.rules.map { "  \($0.id)  \(Self.rule($0))\n" }.joined()
        return SafeText.clean(list.summary ?? "added") + "\n" + rules
    }

    private func table(_ rules: [FaultRuleReport]) -> String {
        let table = Table([
            .init("Rule", rules.map { "\($0.id)" }, alignRight: true),
            .init("State", rules.map { SafeText.clean($0.state.rawValue) }),
            .init("Taken", rules.map(Self.taken), alignRight: true),
            .init("What", rules.map(Self.rule)),
        ])
        return table.fitted(to: width, [.shorten("What", to: 20)]).lines(style)
            .map { $0 + "\n" }.joined()
    }

    /// "rule 1: app:radio rpc:Show -> delay 300ms, 3 taken"
    static func status(_ rule: FaultRuleReport) -> String {
        let state = rule.state == .on ? "" : " (\(SafeText.clean(rule.state.rawValue)))"
        return "rule \(rule.id): \(Self.rule(rule)), \(taken(rule)) taken\(state)"
    }

    /// "3 of 5": the messages it took, of those it may take or could have taken.
    private static func taken(_ rule: FaultRuleReport) -> String {
        if let count = rule.count { return "\(rule.hits) of \(count)" }
        return rule.probability < 1 ? "\(rule.hits) of \(rule.matched)" : "\(rule.hits)"
    }

    private static func time(_ milliseconds: Int) -> String {
        FaultAction.text(.milliseconds(Int64(milliseconds)))
    }

    private static func rule(_ rule: FaultRuleReport) -> String {
        var words = [
            rule.link ? "link \(rule.filter)" : "\(rule.filter) ->",
            rule.link && rule.filter != "slow" ? "" : rule.action,
        ]
        if rule.probability < 1 { words.append("probability \(rule.probability)") }
        if let count = rule.count { words.append("count \(count)") }
        if let from = rule.fromMilliseconds { words.append("from \(FaultText.time(from))") }
        if let until = rule.untilMilliseconds { words.append("until \(FaultText.time(until))") }
        return SafeText.line(words.filter { !$0.isEmpty }.joined(separator: " "))
    }
}
