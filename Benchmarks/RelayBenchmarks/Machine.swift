// The machine and the programs of a measurement: numbers mean nothing without them.

import Foundation

/// The machine and the programs of a run.
struct Machine: Encodable {
    var date: String
    var processor: String
    var processors: Int
    var memoryMiB: Int
    var kernel: String
    var system: String
    /// Load averages over one minute, before and after: above 0.5, other programs were at work.
    var loadBefore: Double
    var loadAfter: Double?
    var swift: String
    var socat: String
    /// Commit of relayd's sources, with "+" if they have been changed since.
    var commit: String

    /// Such as "6.3.1".
    var swiftNumber: String {
        swift.split(separator: " ").last.map(String.init) ?? swift
    }

    static func current() -> Machine {
        Machine(
            date: Date().formatted(.iso8601),
            processor: line(of: "/proc/cpuinfo", after: "model name\t: ") ?? "unknown",
            processors: ProcessInfo.processInfo.activeProcessorCount,
            memoryMiB: Int(ProcessInfo.processInfo.physicalMemory >> 20),
            kernel: (try? ProcessFacts.text(of: "/proc/sys/kernel/osrelease"))?
                .trimmingCharacters(in: .whitespacesAndNewlines) ?? "unknown",
            system: line(of: "/etc/os-release", after: "PRETTY_NAME=")?
                .trimmingCharacters(in: ["\""]) ?? "unknown",
            loadBefore: load(), swift: variable("RELAY_BENCH_SWIFT"),
            socat: variable("RELAY_BENCH_SOCAT"),
            commit: variable("RELAY_BENCH_COMMIT"))
    }

    static func load() -> Double {
        var loads = [0.0]
        return getloadavg(&loads, 1) == 1 ? loads[0] : .nan
    }

    var text: String {
        """
        \(processors) × \(processor), \(memoryMiB) MiB, Linux \(kernel), \(system)
        \(swift); socat \(socat); relayd \(commit); \(date); load \(Report.text(loadBefore))

        """
    }

    private static func line(of path: String, after prefix: String) -> String? {
        (try? ProcessFacts.text(of: path))?.split(separator: "\n")
            .first { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    }

    /// A fact that `Scripts/bench` found out.
    private static func variable(_ name: String) -> String {
        ProcessInfo.processInfo.environment[name] ?? "unknown"
    }
}
