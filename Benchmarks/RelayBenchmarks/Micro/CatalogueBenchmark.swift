// The built-in RPC specification: how long it takes to load, and how much memory it takes.

import CMallocCounter
import Glibc
import SDLProtocol

/// Loads the catalogue again and counts what stays in memory.
enum CatalogueBenchmark: Benchmark {
    static let name = "catalogue"
    static let summary = "the built-in RPC specification: time to load it, memory it keeps"

    private static let loads = 20

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "the catalogue with the index the validator looks things up in; memory = bytes",
            "of malloc in use that each further copy adds",
        ])
        var times: [Double] = []
        var kept: [RPCValidator] = []
        // The first load also brings in the table's own pages, as relayd's start does.
        let first = load()
        kept.append(first.validator)
        let count = setting.isQuick ? 5 : loads
        let before = malloc_counter_in_use()
        for _ in 0..<count {
            let (validator, milliseconds) = load()
            times.append(milliseconds)
            kept.append(validator)
        }
        let after = malloc_counter_in_use()
        let subject = "RPC specification \(first.validator.catalogue.version)"
        findings.add(subject, "first load", "time", [first.milliseconds], "ms")
        findings.add(subject, "load", "time", times, "ms")
        let memory = Double(after - before) / Double(count << 20)
        findings.add(subject, "one copy", "memory", [memory], "MiB")
        findings.bound(
            "loading the RPC specification, median of \(count)", times.median, .atMost, 5, "ms")
        findings.bound("loading the RPC specification, first", first.milliseconds, .atMost, 5, "ms")
        findings.bound("memory of the RPC specification", memory, .atMost, 2, "MiB")
        withExtendedLifetime(kept) {}
        return findings
    }

    private static func load() -> (validator: RPCValidator, milliseconds: Double) {
        let start = Clock.now(CLOCK_THREAD_CPUTIME_ID)
        let validator = RPCValidator(RPCCatalogue.readBuiltIn())
        return (validator, (Clock.now(CLOCK_THREAD_CPUTIME_ID) - start) * 1e3)
    }
}
