// Measures relayd; `Scripts/bench` builds and runs this.

import ArgumentParser
import Foundation

@main
struct RelayBenchmarks: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "RelayBenchmarks",
        abstract: "Measures relayd against its bounds and against socat.")

    @Argument(help: "Benchmarks to run, see --list; all of them without.")
    var names: [String] = []

    @Option(help: "The relayd to measure; the one beside this program without.")
    var relayd: String?

    @Option(help: "File for the results as JSON.")
    var output: String?

    @Option(help: "Rounds of which the median counts.")
    var rounds = 9

    @Flag(help: "Less of everything: shows that it works, not how fast relayd is.")
    var quick = false

    @Flag(help: "Exit with 1 when a bound is missed.")
    var check = false

    @Flag(help: "Name the benchmarks and end.")
    var list = false

    func validate() throws {
        guard rounds > 0 else { throw ValidationError("--rounds is \(rounds), expected 1 or more") }
        let known = BenchmarkCatalog.all.map { $0.name }
        for name in names where !known.contains(name) {
            throw ValidationError(
                "no benchmark \"\(name)\"; known: \(known.joined(separator: ", "))")
        }
    }

    func run() async throws {
        guard !list else {
            for benchmark in BenchmarkCatalog.all {
                print("\(benchmark.name)\n    \(benchmark.summary)")
            }
            return
        }
        let here = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            .deletingLastPathComponent().path
        let setting = try Setting(
            relayd: relayd ?? "\(here)/relayd", mallocCounter: "\(here)/libMallocCounter.so",
            rounds: quick ? min(rounds, 2) : rounds, isQuick: quick)
        defer { setting.removeFiles() }
        var report = Report(machine: .current())
        say(report.machine.text)
        for benchmark in BenchmarkCatalog.all
        where names.isEmpty || names.contains(benchmark.name) {
            let findings = try await benchmark.run(setting)
            let section = Report.Section(benchmark: benchmark.name, findings: findings)
            report.sections.append(section)
            say(section.text)
        }
        report.machine.loadAfter = Machine.load()
        if report.sections.contains(where: { !$0.findings.bounds.isEmpty }) {
            say("== bounds\n\(report.bounds)")
        }
        if let output {
            try report.json().write(to: URL(fileURLWithPath: output))
            say("results as JSON: \(output)")
        }
        if check, !report.missedBounds.isEmpty { throw ExitCode(1) }
    }
}

/// Prints at once, also into a pipe: a run takes minutes.
private func say(_ text: String) {
    FileHandle.standardOutput.write(Data((text + "\n").utf8))
}
