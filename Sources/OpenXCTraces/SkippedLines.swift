package import OpenXCProtocol

/// Describes the skipped lines of a trace for the log. A damaged file must not flood the log: it gets the
/// first line, the 2nd, the 4th, the 8th …, each with the numbers of those between, and at the end the rest.
package struct SkippedLines: Sendable {
    private var count = 0
    /// The count at which the next report is due.
    private var next = 1
    /// Lines not reported yet, in the order of the file.
    private var untold: [ClosedRange<Int>] = []
    /// The number of lines beyond those.
    private var unnamed = 0

    /// Runs of lines that one line of the log names.
    static let maximumRuns = 100

    package init() {}

    /// - Returns: The report to log now, if one is due.
    package mutating func add(_ number: Int, _ problem: MessageProblem) -> String? {
        count += 1
        note(number)
        guard count >= next else { return nil }
        next *= 2
        let soFar = count == 1 ? "" : " (\(count) such lines so far)"
        let last = isOne ? "" : "the last one is "
        return "\(takeNumbers()): \(last)\(problem.words)\(soFar)"
    }

    /// The report at the end of the trace, or when it is no longer played.
    package mutating func takeRest() -> String? {
        untold.isEmpty ? nil : takeNumbers()
    }

    private mutating func note(_ number: Int) {
        // One line of the file may be read as several.
        if let last = untold.last, unnamed == 0, last.upperBound >= number - 1 {
            untold[untold.count - 1] = last.lowerBound...max(number, last.upperBound)
        } else if untold.count < Self.maximumRuns {
            untold.append(number...number)
        } else {
            unnamed += 1
        }
    }

    private var isOne: Bool { untold.count == 1 && untold[0].count == 1 && unnamed == 0 }

    private mutating func takeNumbers() -> String {
        let isOne = isOne
        let numbers = untold.map {
            $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)–\($0.upperBound)"
        }
        let more = unnamed > 0 ? " and \(unnamed) behind them" : ""
        (untold, unnamed) = ([], 0)
        let list = numbers.joined(separator: ", ")
        return isOne ? "line \(list) is skipped" : "lines \(list)\(more) are skipped"
    }
}
