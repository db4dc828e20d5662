// Decoding and formatting traffic, without the rest of the daemon.

import NIOCore
import RelayCore
import SDLProtocol
import SDLTraffic

/// Makes lines of requests and their responses.
enum TrafficLogBenchmark: Benchmark {
    static let name = "traffic-log"
    static let summary = "TrafficDecoder and TrafficFormatter: frames into lines of log"

    private static let pairs = 5000

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: ["requests and responses of 256 B in turn, 64 frames a read"]
        )
        let items = items()
        let lines = pairs * 2
        for format in [TrafficFormat.text, .json] {
            var decoder = TrafficDecoder()
            var formatter = TrafficFormatter(.init(format: format))
            let micro = try Micro(setting, operations: lines) {
                var count = 0
                for item in items {
                    var entries: [TrafficEntry] = []
                    decoder.receive(item, into: &entries)
                    count += formatter.lines(entries).count
                }
                guard count == lines else { throw BenchmarkError("\(count) lines, not \(lines)") }
            }
            findings.add("\(format.rawValue) lines", "decode and format", micro, per: "line")
            findings.add(
                "\(format.rawValue) lines", "decode and format", "lines/s",
                micro.nanoseconds.map { 1e9 / $0 }, "1/s")
        }
        var decoder = TrafficDecoder()
        let micro = Micro(setting, operations: lines) {
            for item in items {
                var entries: [TrafficEntry] = []
                decoder.receive(item, into: &entries)
            }
        }
        findings.add("no lines", "decode only", micro, per: "line")
        return findings
    }

    private static func items() -> [TapItem] {
        let app = AppID(rawValue: 1)
        let time = WallTime.now()
        var frames: [TappedFrame] = []
        for number in 1...pairs {
            let (message, correlation) = (UInt32(number), Int32(number))
            let request = Traffic.request(
                session: 1, bytes: 256, message: message, correlation: correlation)
            let response = Traffic.response(
                session: 1, bytes: 256, message: message, correlation: correlation)
            frames.append(
                TappedFrame(frame: request, direction: .fromApp, app: app, time: time))
            frames.append(
                TappedFrame(frame: response, direction: .fromAccessory, app: app, time: time))
        }
        return stride(from: 0, to: frames.count, by: 64).map { start in
            .frames(Array(frames[start..<min(start + 64, frames.count)]))
        }
    }
}
