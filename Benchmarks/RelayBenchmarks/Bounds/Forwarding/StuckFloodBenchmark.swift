// What an app that stops reading costs the others when the head unit sends all it can.

import CPlainEnds
import Foundation

/// A head unit that floods two apps, one of which stops reading.
enum StuckFloodBenchmark: Benchmark {
    static let name = "stuck-flood"
    static let summary =
        "an app stops reading while the head unit sends all it can: the longest stall of another app"

    private static let frameBytes = 16 << 10
    private static let runs = 10

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "both ends in C; frames of \(Report.size(frameBytes)) for two apps in turn, as fast as they go;",
            "stall: the longest time the other app gets nothing; a new relayd for each run, in turn",
        ])
        let programs = [(name: "relayd", path: setting.relayd)] + setting.beside
        for link in [LinkKind.tcp, .pty] {
            var runs = programs.map { _ in [plain_gaps]() }
            for _ in 0..<(setting.isQuick ? 2 : Self.runs) {
                for (index, program) in programs.enumerated() {
                    runs[index].append(try measure(program.path, link, setting))
                }
            }
            for (program, gaps) in zip(programs, runs) {
                let stalls = [gaps.map(\.longest.0), gaps.map(\.longest.1)].map {
                    $0.map { Double($0) / 1e6 }
                }
                findings.add(
                    "\(link.rawValue), both read", program.name, "longest stall", stalls[0], "ms")
                findings.add(
                    "\(link.rawValue), one is stuck", program.name, "longest stall", stalls[1],
                    "ms")
                guard program.name == "relayd" else { continue }
                findings.bound(
                    "\(link.rawValue), a stuck app in a flood: longest stall of another, of"
                        + " \(gaps.count) runs", stalls[1].max() ?? .nan, .atMost, 50, "ms")
            }
        }
        return findings
    }

    private static func measure(
        _ program: String, _ link: LinkKind, _ setting: Setting
    ) throws -> plain_gaps {
        let lane = try Lane.relayd(setting, .init(program: program), link: link)
        let (stuck, session) = try lane.join()
        let frames = PlainFrames(
            wire: Traffic.wire(
                [lane.session, session].map {
                    Traffic.video(session: $0, bytes: frameBytes, message: 1)
                }), frameBytes: frameBytes)
        var gaps = plain_gaps()
        try PlainEnds.check(
            frames.withUnsafeFrames {
                plain_flood(
                    lane.headUnit.descriptor, lane.app.descriptor, stuck.descriptor, $0,
                    setting.isQuick ? 1 : 3, &gaps)
            }, "a flood over \(link.rawValue)")
        return gaps
    }
}
