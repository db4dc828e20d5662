// How much later a frame arrives because relayd is in between.

import Foundation

/// Round trips of one small frame through relayd and through socat, in turn.
enum RoundTripBenchmark: Benchmark {
    static let name = "round-trip"
    static let summary = "round trip of a 64 B request and its response, against socat"

    private static let frameBytes = 64

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "one request in flight, answered by the head unit; decode and log on, log to /dev/null;",
            "apps.frames_per_second: 0; socat with nodelay on both ends; rounds in turn",
        ])
        let lanes = [try Lane.relayd(setting), try Lane.socat(setting)]
        var trips = lanes.map { RoundTrips($0, bytes: frameBytes) }
        let number = setting.isQuick ? 500 : 5000
        for index in lanes.indices { _ = try trips[index].run(number) }

        var percentiles: [Double: [[Double]]] = [:]
        var processorTimes = lanes.map { _ in [Double]() }
        for _ in 0..<setting.rounds {
            for (index, lane) in lanes.enumerated() {
                let before = lane.child.settledProcessorTime()
                let times = try trips[index].run(number).map { Double($0) / 1000 }
                let used = lane.child.settledProcessorTime() - before
                processorTimes[index].append(used / Double(number) * 1e6)
                for share in [0.5, 0.99] {
                    percentiles[share, default: lanes.map { _ in [] }][index]
                        .append(times.percentile(share))
                }
            }
        }
        let subject = "round trip, \(frameBytes) B"
        for (share, quantity) in [(0.5, "p50"), (0.99, "p99")] {
            guard let all = percentiles[share] else { continue }
            for (lane, rounds) in zip(lanes, all) {
                findings.add(subject, lane.name, quantity, rounds, "µs")
            }
            findings.add(subject, "relayd / socat", quantity, all[0].ratios(to: all[1]), "×")
        }
        for (lane, rounds) in zip(lanes, processorTimes) {
            findings.add(subject, lane.name, "processor time", rounds, "µs")
        }
        if let p50 = percentiles[0.5] {
            findings.bound(
                "p50 of a \(frameBytes) B round trip, relayd / socat",
                p50[0].median / p50[1].median, .atMost, 1.5, "×")
        }
        return findings
    }
}
