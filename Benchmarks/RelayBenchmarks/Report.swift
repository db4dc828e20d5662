// All findings as a table for people and as JSON for programs.

import Foundation

/// The result of a run.
struct Report: Encodable {
    struct Section: Encodable {
        var benchmark: String
        var findings: Findings
    }

    /// Of this layout; grows when a field changes its meaning.
    let schema = 1
    var machine: Machine
    var sections: [Section] = []

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
    var text: String {
        let rows = findings.measurements.map { row in
            [
                row.subject, row.contestant, row.quantity, Report.text(row.median),
                Report.text(row.rounds.min() ?? .nan), Report.text(row.rounds.max() ?? .nan),
                row.unit,
            ]
        }
        let head = ["", "", "", "median", "min", "max", "unit"]
        return "== \(benchmark)\n"
            + findings.notes.map { "   \($0)\n" }.joined()
            + Report.table([head] + rows, numeric: [3, 4, 5])
    }
}

extension Report {
    /// Three significant digits, for they are not worth more.
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
