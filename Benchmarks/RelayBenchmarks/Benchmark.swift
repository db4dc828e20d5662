// What a benchmark is, and the list of all of them.

import Foundation

/// One thing that is measured.
protocol Benchmark {
    /// The name as typed on the command line.
    static var name: String { get }
    /// One sentence for `--list`: what is measured, and how.
    static var summary: String { get }
    /// Whether a run of everything leaves it out.
    static var runsOnlyWhenNamed: Bool { get }

    static func run(_ setting: Setting) async throws -> Findings
}

extension Benchmark {
    static var runsOnlyWhenNamed: Bool { false }
}

/// All benchmarks in the order they run. A new one is a file and a line here.
enum BenchmarkCatalog {
    static var all: [any Benchmark.Type] {
        [
            IdleBenchmark.self,
            StartBenchmark.self,
            MallocBenchmark.self,
            RoundTripBenchmark.self,
            SendBenchmark.self,
            StreamBenchmark.self,
            SerialStreamBenchmark.self,
            CrowdBenchmark.self,
            SharingBenchmark.self,
            StuckAppBenchmark.self,
            StuckFloodBenchmark.self,
            RegisteredAppsBenchmark.self,
            ConnectBenchmark.self,
            ReplugBenchmark.self,
            LinkReturnBenchmark.self,
            USBBenchmark.self,
            USBLoadBenchmark.self,
            USBReplugBenchmark.self,
            DecoderBenchmark.self,
            OpenXCBenchmark.self,
            VehicleCrowdBenchmark.self,
            RouterBenchmark.self,
            SchedulerBenchmark.self,
            HubBenchmark.self,
            HubStepsBenchmark.self,
            FaultRulesBenchmark.self,
            TrafficLogBenchmark.self,
            TraceReadingBenchmark.self,
            ObserversBenchmark.self,
            CatalogueBenchmark.self,
            LogCostBenchmark.self,
            RecordingBenchmark.self,
            WatchCostBenchmark.self,
            DashboardMemoryBenchmark.self,
            ToolBenchmark.self,
            SoakBenchmark.self,
        ]
    }
}

/// Groups of benchmarks with a common name.
enum BenchmarkGroup {
    /// How fast relayd forwards, with ends in plain C.
    static let fast = (
        name: "fast",
        benchmarks: ["round-trip", "stream", "stream-pty", "crowd", "stuck-flood", "connects"]
    )
}

/// The setting of a run: which programs are measured, and for how long.
final class Setting {
    /// Path of the relayd to measure.
    let relayd: String
    /// Other builds of relayd that are measured in turn with it, such as the previous release.
    var beside: [(name: String, path: String)] = []
    /// The relayctl beside that relayd.
    var relayctl: String {
        URL(fileURLWithPath: relayd).deletingLastPathComponent().appending(path: "relayctl").path
    }
    /// Path of the library that counts allocations of other programs.
    let mallocCounter: String
    let socat = "socat"
    /// The number of rounds, of which the median counts; every round visits all contestants in turn.
    let rounds: Int
    /// Whether to do less of everything, only to see whether it works.
    let isQuick: Bool
    /// The length of a soak, its number of apps and its seed.
    var soak = (minutes: 10.0, apps: 100, seed: UInt64(1))
    /// Folder for what the programs need, removed at the end.
    private let directory: String
    private var directories = 0

    init(relayd: String, mallocCounter: String, rounds: Int, isQuick: Bool) throws {
        self.relayd = relayd
        self.mallocCounter = mallocCounter
        self.rounds = rounds
        self.isQuick = isQuick
        directory = NSTemporaryDirectory() + "relayd-bench.\(getpid())"
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
    }

    func newDirectory() throws -> String {
        directories += 1
        return "\(directory)/\(directories)"
    }

    func removeFiles() {
        try? FileManager.default.removeItem(atPath: directory)
    }
}
