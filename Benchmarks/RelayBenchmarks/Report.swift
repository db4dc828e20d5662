// All findings as a table for people and as JSON for programs.

import Foundation

/// The result of a run.
struct Report: Encodable {
    struct Section: Encodable {
        var benchmark: String
        var findings: Findings
    }

    /// The version of this layout; increases when a field changes its meaning.
    let schema = 2
    var machine: Machine
    var sections: [Section] = []

    /// The number of bounds that are kept, and the first that are not.
    var verdict: String {
        let all = sections.flatMap(\.findings.bounds)
        guard !missedBounds.isEmpty else { return "all \(all.count) bounds kept" }
        return "\(missedBounds.count) of \(all.count) bounds MISSED"
    }

    var missedBounds: [Bound] {
        sections.flatMap(\.findings.bounds).filter { !$0.isKept }
    }

    func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self) + Data("\n".utf8)
    }

    var bounds: String {
        let rows = sections.flatMap(\.findings.bounds).map { bound in
            [
                bound.promise, Self.text(bound.value), bound.comparison.rawValue,
                Self.text(bound.limit), bound.unit, bound.isKept ? "kept" : "MISSED",
            ]
        }
        return Self.table(
            [["bound", "measured", "", "limit", "unit", ""]] + rows, numeric: [1, 3])
    }
}

extension Report.Section {
    /// One line per subject and quantity, the contestants side by side: the median, followed by the
    /// lowest and the highest round.
    var text: String {
        let contestants = unique(findings.measurements.map(\.contestant))
        let head = ["", "", ""] + contestants
        let lines = unique(findings.measurements.map(\.line)).map { line in
            [line.subject, line.quantity, line.unit]
                + contestants.map { contestant in
                    findings.measurements
                        .first { $0.line == line && $0.contestant == contestant }
                        .map(Report.cell) ?? ""
                }
        }
        return "== \(benchmark)\n"
            + findings.notes.map { "   \($0)\n" }.joined()
            + Report.table([head] + lines, numeric: Set(3..<3 + contestants.count))
    }

    private func unique<Element: Hashable>(_ elements: [Element]) -> [Element] {
        var seen: Set<Element> = []
        return elements.filter { seen.insert($0).inserted }
    }
}

extension Measurement {
    fileprivate struct Line: Hashable {
        var subject: String
        var quantity: String
        var unit: String
    }

    /// Its line in the table.
    fileprivate var line: Line { Line(subject: subject, quantity: quantity, unit: unit) }
}

extension Report {
    fileprivate static func cell(_ measurement: Measurement) -> String {
        let median = text(measurement.median)
        guard measurement.rounds.count > 1, let least = measurement.rounds.min(),
            let most = measurement.rounds.max(), least < most
        else { return median }
        return "\(median) (\(text(least))…\(text(most)))"
    }

    /// A number with three significant digits; more would mean nothing.
    static func text(_ number: Double) -> String {
        switch abs(number) {
        case 0: "0"
        case ..<0.001: String(format: "%.1e", number)
        case ..<1: String(format: "%.3f", number)
        case ..<10: String(format: "%.2f", number)
        case ..<100: String(format: "%.1f", number)
        default: String(format: "%.0f", number)
        }
    }

    /// - Parameter numeric: columns that are aligned on the right.
    static func table(_ rows: [[String]], numeric: Set<Int>) -> String {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            rows.map { $0.indices.contains(column) ? $0[column].count : 0 }.max() ?? 0
        }
        return rows.map { row in
            let cells = row.enumerated().map { column, cell in
                let padding = String(repeating: " ", count: widths[column] - cell.count)
                return numeric.contains(column) ? padding + cell : cell + padding
            }
            let line = cells.joined(separator: "  ")
            return "   " + line.replacing(/\s+$/, with: "") + "\n"
        }.joined()
    }
}
