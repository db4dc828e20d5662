// Measures relayd; `Scripts/bench` builds and runs this.

import ArgumentParser
import Foundation

@main
struct RelayBenchmarks: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "RelayBenchmarks",
        abstract: "Measures relayd against its bounds and against socat.")

    @Argument(
        help: """
            Benchmarks to run, see --list; all of them without. "fast" stands for those of \
            how fast relayd forwards.
            """)
    var names: [String] = []

    @Option(help: "The relayd to measure; the one beside this program without.")
    var relayd: String?

    @Option(
        help: ArgumentHelp(
            "Another relayd to measure in turn with it, in the benchmarks of \"fast\"; repeatable.",
            valueName: "NAME=PATH"))
    var beside: [String] = []

    @Option(help: "File for the results as JSON.")
    var output: String?

    @Option(help: "Rounds of which the median counts.")
    var rounds = 9

    @Flag(help: "Less of everything: shows that it works, not how fast relayd is.")
    var quick = false

    @Flag(help: "Exit with 1 when a bound is missed.")
    var check = false

    @Flag(
        help: "Run the microbenchmarks only, and exit with 1 when they allocate more than allowed.")
    var checkMallocs = false

    @Flag(help: "Make what the microbenchmarks allocate now what is allowed.")
    var allowMallocs = false

    @Option(help: "Folder of the allowed allocations.")
    var thresholds = "Benchmarks/Thresholds"

    @Option(help: "Length of a soak.")
    var minutes = 10.0

    @Option(help: "Apps of a soak.")
    var apps = 100

    @Option(help: "Decides what the apps of a soak do.")
    var seed: UInt64 = 1

    @Flag(help: "Name the benchmarks and end.")
    var list = false

    func validate() throws {
        guard rounds > 0 else { throw ValidationError("--rounds is \(rounds), expected 1 or more") }
        guard minutes > 0 else { throw ValidationError("--minutes is \(minutes), expected more") }
        guard (1...255).contains(apps) else {
            throw ValidationError("--apps is \(apps), expected 1 to 255, what a link has sessions")
        }
        let known = BenchmarkCatalog.all.map { $0.name } + [BenchmarkGroup.fast.name]
        for name in names where !known.contains(name) {
            throw ValidationError(
                "no benchmark \"\(name)\"; known: \(known.joined(separator: ", "))")
        }
        _ = try others()
    }

    private func others() throws -> [(name: String, path: String)] {
        try beside.map { text in
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2, FileManager.default.isExecutableFile(atPath: parts[1]) else {
                throw ValidationError(
                    "--beside \(text): expected NAME=PATH with the path of a program")
            }
            return (parts[0], parts[1])
        }
    }

    func run() async throws {
        guard !list else {
            for benchmark in BenchmarkCatalog.all {
                print("\(benchmark.name)\n    \(benchmark.summary)")
            }
            let fast = BenchmarkGroup.fast
            print("\(fast.name)\n    \(fast.benchmarks.joined(separator: ", "))")
            return
        }
        let here = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            .deletingLastPathComponent().path
        let setting = try Setting(
            relayd: relayd ?? "\(here)/relayd", mallocCounter: "\(here)/libMallocCounter.so",
            rounds: quick ? min(rounds, 2) : rounds, isQuick: quick)
        defer { setting.removeFiles() }
        setting.soak = (minutes, apps, seed)
        setting.beside = try others()
        var report = Report(machine: .current())
        say(report.machine.text)
        for benchmark in chosen {
            let findings = try await benchmark.run(setting)
            let section = Report.Section(benchmark: benchmark.name, findings: findings)
            report.sections.append(section)
            say(section.text)
        }
        report.machine.loadAfter = Machine.load()
        if report.sections.contains(where: { !$0.findings.bounds.isEmpty }) {
            say("== bounds\n\(report.bounds)   \(report.verdict)\n")
        }
        if let output {
            try report.json().write(to: URL(fileURLWithPath: output))
            say("results as JSON: \(output)")
        }
        if checkMallocs || allowMallocs { try judgeMallocs(report) }
        if check, !report.missedBounds.isEmpty { throw ExitCode(1) }
    }

    private var chosen: [any Benchmark.Type] {
        if checkMallocs || allowMallocs {
            return BenchmarkCatalog.all.filter { MallocThresholds.benchmarks.contains($0.name) }
        }
        guard !names.isEmpty else {
            return BenchmarkCatalog.all.filter { !$0.runsOnlyWhenNamed }
        }
        let group = names.contains(BenchmarkGroup.fast.name) ? BenchmarkGroup.fast.benchmarks : []
        return BenchmarkCatalog.all.filter { names.contains($0.name) || group.contains($0.name) }
    }

    private func judgeMallocs(_ report: Report) throws {
        let limits = try MallocThresholds(directory: thresholds, swift: report.machine.swiftNumber)
        guard checkMallocs else { return try limits.write(report.sections) }
        let problems = limits.problems(report.sections)
        guard problems.isEmpty else {
            say(
                """
                == allocations: TOO MANY
                \(problems.map { "   \($0)\n" }.joined())
                   If there is a good reason: Scripts/bench --allow-mallocs, and say it in the commit.
                """)
            throw ExitCode(1)
        }
        say("== allocations: ok")
    }
}

/// Prints at once, also into a pipe: a run takes minutes.
private func say(_ text: String) {
    FileHandle.standardOutput.write(Data((text + "\n").utf8))
}
