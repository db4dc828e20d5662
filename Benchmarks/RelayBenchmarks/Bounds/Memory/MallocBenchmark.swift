// How many allocations a forwarded frame costs.

import Foundation

/// relayd with a counting malloc in front of glibc's, forwarding a stream of 1 KB frames.
enum MallocBenchmark: Benchmark {
    static let name = "mallocs"
    static let summary = "allocations per forwarded 1 KB frame, on the event loop and in all"

    private static let frameBytes = 1024

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "frames written one by one, as fast as relayd takes them; RPCs with bulk data,",
            "apps.frames_per_second: 0; hot path = event loop; all = with observers and log",
        ])
        for logsTraffic in [true, false] {
            let lane = try Lane.relayd(
                setting,
                .init(log: logsTraffic ? .text : .off, preload: setting.mallocCounter))
            for direction in StreamDirection.allCases {
                try measure(lane, direction, logsTraffic, setting, &findings)
            }
            if logsTraffic { try measureRoundTrips(lane, setting, &findings) }
        }
        return findings
    }

    private static func measure(
        _ lane: Lane, _ direction: StreamDirection, _ logsTraffic: Bool, _ setting: Setting,
        _ findings: inout Findings
    ) throws {
        let stream = Stream(lane, direction, frameBytes: frameBytes)
        let bytes = setting.isQuick ? 16 << 20 : 64 << 20
        // Lets buffers and tables grow to their size.
        _ = try stream.run(bytes: bytes / 4)
        var (hot, all): ([Double], [Double]) = ([], [])
        for _ in 0..<setting.rounds {
            let before = try counts(lane)
            let result = try stream.run(bytes: bytes)
            let after = try counts(lane)
            hot.append(Double(after.hot - before.hot) / Double(result.frames))
            all.append(Double(after.all - before.all) / Double(result.frames))
        }
        let subject = "1 KB \(direction.rawValue), log \(logsTraffic ? "on" : "off")"
        findings.add(subject, "event loop", "mallocs/frame", hot, "")
        findings.add(subject, "all threads", "mallocs/frame", all, "")
        guard logsTraffic else { return }
        findings.bound(
            "mallocs per 1 KB frame on the hot path, \(direction.rawValue)", hot.median, .atMost,
            0.1, "")
    }

    /// Measures the other extreme: every frame is a read of its own.
    private static func measureRoundTrips(
        _ lane: Lane, _ setting: Setting, _ findings: inout Findings
    ) throws {
        var trips = RoundTrips(lane, bytes: frameBytes)
        let number = 2000
        _ = try trips.run(number)
        _ = lane.child.settledProcessorTime()
        let before = try counts(lane)
        _ = try trips.run(number)
        _ = lane.child.settledProcessorTime()
        let after = try counts(lane)
        let frames = Double(2 * number)
        let subject = "1 KB, one in flight, log on"
        let hot = Double(after.hot - before.hot) / frames
        findings.add(subject, "event loop", "mallocs/frame", [hot], "")
        // Streams hide the cost of every read.
        findings.bound(
            "mallocs per 1 KB frame on the hot path, one in flight", hot, .atMost, 0.1, "")
        findings.add(
            subject, "all threads", "mallocs/frame", [Double(after.all - before.all) / frames], "")
    }

    private static func counts(_ lane: Lane) throws -> (hot: Int, all: Int) {
        guard let relayd = lane.relayd else { return (0, 0) }
        let loop = try relayd.facts.relayLoop()
        let counts = try relayd.mallocCounts().allocations()
        return (counts[loop] ?? 0, counts.values.reduce(0, +))
    }
}
