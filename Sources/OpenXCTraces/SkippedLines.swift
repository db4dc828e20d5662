package import OpenXCProtocol

/// Which lines of a trace are skipped, in words for the log. A damaged file must not fill it: told are the
/// first one, the 2nd, the 4th, the 8th …, each with the numbers of those between, and at the end the rest.
package struct SkippedLines: Sendable {
    private var count = 0
    /// How many there are when the next one is told.
    private var next = 1
    /// Not told yet, in the order of the file.
    private var untold: [ClosedRange<Int>] = []
    /// Beyond those.
    private var unnamed = 0

    /// Runs of lines that one line of the log names.
    static let maximumRuns = 100

    package init() {}

    /// - Returns: What is to be said now.
    package mutating func add(_ number: Int, _ problem: MessageProblem) -> String? {
        count += 1
        note(number)
        guard count >= next else { return nil }
        next *= 2
        let soFar = count == 1 ? "" : " (\(count) such lines so far)"
        let last = isOne ? "" : "the last one is "
        return "\(takeNumbers()): \(last)\(problem.words)\(soFar)"
    }

    /// At the end of the trace, or when it is not played any more.
    package mutating func takeRest() -> String? {
        untold.isEmpty ? nil : takeNumbers()
    }

    private mutating func note(_ number: Int) {
        // A line of the file may be several that are read.
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
