// The allocations that the microbenchmarks may make, in a small file per Swift version, so that CI fails
// when one is added.

import Foundation

/// `Benchmarks/Thresholds/<Swift version>.json`: allocations per frame or line, by measurement.
struct MallocThresholds {
    /// The benchmarks whose allocations are the same on every run and machine.
    static let benchmarks = ["decoder", "router", "scheduler", "traffic-log"]
    /// How much rounding, and a table that grows once in a while, may add.
    private static let tolerance = 0.01

    private let path: String
    private let allowed: [String: Double]

    /// - Parameter swift: such as "6.3.1"; its first two numbers name the file.
    init(directory: String, swift: String) throws {
        let version = swift.split(separator: ".").prefix(2).joined(separator: ".")
        path = "\(directory)/\(version).json"
        guard FileManager.default.fileExists(atPath: path) else {
            allowed = [:]
            return
        }
        allowed = try JSONDecoder().decode(
            [String: Double].self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// The problems, in a sentence each; empty when all is well.
    func problems(_ sections: [Report.Section]) -> [String] {
        let measured = Self.mallocs(sections)
        let over = measured.compactMap { name, mallocs -> String? in
            guard let limit = allowed[name] else {
                return "\(name): \(Report.text(mallocs)) allocations, but \(path) does not know it"
            }
            guard mallocs > limit + Self.tolerance else { return nil }
            return
                "\(name): \(Report.text(mallocs)) allocations, at most \(Report.text(limit)) allowed"
        }
        let missing = allowed.keys.filter { measured[$0] == nil }.map {
            "\($0): in \(path), but was not measured"
        }
        return (over + missing).sorted()
    }

    /// Makes the measured values the limits.
    func write(_ sections: [Report.Section]) throws {
        let rounded = Self.mallocs(sections).mapValues { ($0 * 1000).rounded() / 1000 }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try (encoder.encode(rounded) + Data("\n".utf8)).write(to: URL(fileURLWithPath: path))
    }

    /// Medians by "benchmark: subject, contestant, unit".
    private static func mallocs(_ sections: [Report.Section]) -> [String: Double] {
        var mallocs: [String: Double] = [:]
        for section in sections {
            for row in section.findings.measurements where row.quantity.hasPrefix("mallocs/") {
                let name =
                    "\(section.benchmark): \(row.subject), \(row.contestant), \(row.quantity)"
                mallocs[name] = row.median
            }
        }
        return mallocs
    }
}
