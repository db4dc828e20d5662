import MessageFilters

/// A search in the journal for what relayd wrote: the command line of journalctl, made from the
/// options of `relayctl log`.
struct JournalQuery: Sendable, Equatable {
    var unit = "relayd.service"
    /// Only relayd's own warnings, errors and advice.
    var warnings = false
    var since: String?
    var lines: Int?
    var follows = false
    var isJSON = false
    var filter = FilterExpression.everything

    /// journalctl and its arguments. journalctl treats matches of one field as alternatives; different
    /// fields must all match.
    var command: [String] {
        var words = ["journalctl", "--unit=\(unit)"]
        words += isRead ? ["--output=json"] : ["--output=short", "--no-hostname"]
        if let since { words.append("--since=\(since)") }
        // Lines are counted after filtering where journalctl cannot apply the filter.
        if let lines, follows || !leavesRest { words.append("--lines=\(lines)") }
        if follows { words.append("--follow") }
        if warnings { words.append("--priority=warning") }
        words += filter.required.compactMap(Self.matches).joined()
        words += priorities.map { "PRIORITY=\($0)" }
        return words
    }

    /// Whether relayctl reads the output of journalctl and formats it itself.
    var isRead: Bool { isJSON || leavesRest }

    /// Whether part of the filter has to be applied to the output of journalctl.
    var leavesRest: Bool {
        let asked = Self.levels(in: filter)
        return filter.required.contains { Self.matches($0) == nil && Self.levels($0) == nil }
            || asked.map(\.isEmpty) ?? false
    }

    /// Syslog priorities that the filter allows; empty where it restricts none, or allows none that a
    /// line can have.
    private var priorities: [Int] { (Self.levels(in: filter) ?? []).sorted() }

    /// The levels that several terms allow together: journalctl would treat values of one field as
    /// alternatives.
    private static func levels(in filter: FilterExpression) -> Set<Int>? {
        filter.required.compactMap(levels).reduce(nil) { found, next in
            found.map { $0.intersection(next) } ?? next
        }
    }

    private static func levels(_ node: FilterExpression.Node) -> Set<Int>? {
        let isWanted: (Int) -> Bool
        switch node {
        case .term(.ok): isWanted = { $0 > JournalLine.warning }
        case .not(.term(.ok)): isWanted = { $0 <= JournalLine.warning }
        case .term(.priority(let wanted, let isExact)):
            isWanted = { number in
                let level = FilterPriority(syslog: number).level
                return isExact ? level == wanted.level : level >= wanted.level
            }
        default: return nil
        }
        return Set((0...7).filter(isWanted))
    }

    /// A part of the filter as journalctl takes it; nil when journalctl cannot express it.
    private static func matches(_ node: FilterExpression.Node) -> [String]? {
        switch node {
        case .term(let term): return matches(term)
        case .either(let terms):
            let matches = terms.map(Self.matches)
            return matches.contains(nil) ? nil : matches.flatMap { $0 ?? [] }
        case .not, .all, .any: return nil
        }
    }

    private static func matches(_ term: FilterTerm) -> [String]? {
        switch term {
        case .name(let key, _, let names):
            guard let field = JournalLine.wordFields[key] else { return nil }
            let words = names.map { key == .from && $0 == "unit" ? "accessory" : $0 }
            return words.sorted().map { "\(field)=\($0)" }
        case .number(let key, .equal, let number):
            guard let field = JournalLine.numberFields[key], let whole = Int(number.text),
                number.text == "\(whole)", key != .milliseconds
            else { return nil }
            return ["\(field)=\(whole)"]
        default: return nil
        }
    }

    /// The command as it is typed in a shell.
    var shellText: String {
        command.map { word in
            let isPlain = word.allSatisfy {
                $0.isASCII && ($0.isLetter || $0.isNumber || "-_=./:,@+".contains($0))
            }
            return isPlain && !word.isEmpty
                ? word
                : "'"
                    + word.split(separator: "'", omittingEmptySubsequences: false)
                    .joined(separator: #"'\''"#) + "'"
        }.joined(separator: " ")
    }
}
