import MessageFilters
package import NIOCore
import SDLProtocol

/// A rule by which relayd spoils what passes: which messages it takes, and what it does to them. Made from
/// text; followed by `FaultStage`.
package struct FaultRule: Hashable, Sendable {
    /// The filter as it was written; for a link fault, its kind.
    package let filter: String
    /// What the rule takes, including what its filter leaves unsaid.
    let expression: FilterExpression
    package let action: FaultAction
    /// The share that it takes of the messages it could take.
    package let probability: Double
    /// How many messages it takes; nil = any number.
    package let count: UInt64?
    /// How long after being added it begins; nil = at once.
    package let from: TimeAmount?
    package let until: TimeAmount?
    /// Whether it may do to a real head unit what hurts the head unit's other apps.
    package let mayHarmOthers: Bool
    /// Whether it takes everything that passes the link.
    package let isOfLink: Bool

    /// - Parameters:
    ///   - filter: In the language of `relayctl tail`; at most `FilterParser.maximumLength` long.
    ///   - action: What `FaultActionParser` reads; at most `FaultLimits.actionLength` long.
    ///   - isHeadUnitReal: If so, rules that would hurt other apps need `mayHarmOthers`.
    package init(
        filter: String, action: String, mayHarmOthers: Bool = false, isHeadUnitReal: Bool,
        functions: [String] = FunctionID.all.map(\.name)
    ) throws(FaultRuleError) {
        var parser = try FaultActionParser(action)
        let outcome = try parser.whole()
        let written: FilterExpression
        do throws(FilterError) {
            var names = FilterNames(functions: functions)
            names.withoutSaved = "relayctl fills in saved filters, relayd does not know them"
            written = try FilterExpression(filter, names: names)
        } catch {
            throw FaultRuleError(.filter, error.range, error.message)
        }
        try FaultScope.check(written, of: filter, for: outcome.action)
        self.filter = filter
        self.action = outcome.action
        expression = FaultScope.completed(written, for: outcome.action)
        (probability, count) = (outcome.probability, outcome.count)
        (from, until) = (outcome.from, outcome.until)
        self.mayHarmOthers = mayHarmOthers
        isOfLink = false
        guard !isHeadUnitReal || mayHarmOthers || !harmsHeadUnit else {
            let name = action.split(separator: " ").first.map(String.init) ?? ""
            throw FaultRuleError(
                .action, 0..<name.unicodeScalars.count,
                "\(name) towards a real head unit may hurt all apps on its link: it may stop reading, "
                    + "or mix messages of two apps. Add from:unit to the filter, use sim:, or allow it "
                    + "(--may-harm-others, \"may_harm_others\": true)")
        }
    }

    private init(link name: String, _ action: FaultAction, until: TimeAmount?) {
        filter = name
        expression = .everything
        self.action = action
        (probability, count, from, self.until) = (1, nil, nil, until)
        (mayHarmOthers, isOfLink) = (false, true)
    }

    /// Whether it takes what could hurt other apps on a real head unit's link.
    var harmsHeadUnit: Bool {
        action.mayHarmOthers && FaultScope.mayTake(expression, from: .fromApp)
    }
}

// MARK: - The link as a whole

extension FaultRule {
    /// A fault of all that passes the link: `freeze 5s`, `slow 20KB/s` or `half-open`.
    ///
    /// - Returns: Nil for `unplug`, which is not a rule: it happens once.
    package static func link(_ text: String) throws(FaultRuleError) -> FaultRule? {
        let words = text.split(separator: " ", maxSplits: 1)
        let name = words.first.map(String.init) ?? ""
        let rest = words.dropFirst().first.map(String.init)
        let known = ["unplug", "freeze", "slow", "half-open"]
        let range = 0..<min(name.unicodeScalars.count, FaultLimits.actionLength)
        guard known.contains(name) else {
            throw FaultRuleError(
                .action, range,
                "no fault of the link is called '\(PrintableText.string(name, limit: 40))'; expected "
                    + "unplug, freeze 5s, slow 20KB/s or half-open")
        }
        func parsed(_ word: String) throws(FaultRuleError) -> FaultActionParser.Outcome {
            let shift = name.unicodeScalars.count - word.unicodeScalars.count
            do throws(FaultRuleError) {
                var parser = try FaultActionParser(word + (rest.map { " \($0)" } ?? ""))
                let outcome = try parser.whole()
                guard outcome.probability == 1, outcome.count == nil, outcome.from == nil else {
                    throw FaultRuleError(
                        .action, 0..<word.unicodeScalars.count,
                        "a fault of the link has no probability, count or from")
                }
                return outcome
            } catch {
                let start = max(0, error.range.lowerBound + shift)
                throw FaultRuleError(
                    .action, start..<start + error.range.count, error.message)
            }
        }
        switch name {
        case "freeze":
            guard rest != nil else {
                throw FaultRuleError(.action, range, "expected for how long, such as freeze 5s")
            }
            let outcome = try parsed("hold")
            guard case .hold(let time?) = outcome.action else {
                throw FaultRuleError(.action, range, "expected for how long, such as freeze 5s")
            }
            return FaultRule(link: name, .hold(time), until: time)
        case "slow":
            let outcome = try parsed("rate")
            return FaultRule(link: name, outcome.action, until: outcome.until)
        case "half-open":
            let outcome = try parsed("drop")
            return FaultRule(link: name, .drop, until: outcome.until)
        default:
            guard rest == nil else {
                throw FaultRuleError(.action, range, "unplug stands alone")
            }
            return nil
        }
    }
}
