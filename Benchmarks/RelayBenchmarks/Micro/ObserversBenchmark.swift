// All observers of traffic, without the rest of the daemon.

import NIOCore
import RelayCore
import SDLProtocol
import SDLTraffic

/// What one message costs its observers: decoding, comparing with the specification, formatting, and
/// on top of that facts, advice and the ring of recent messages.
enum ObserversBenchmark: Benchmark {
    static let name = "observers"
    static let summary = "decode, validate, format, and all observers together, per 600 B message"

    private static let rounds = 2000
    /// The interval of a lively app, far below every limit of a head unit: no advice is given.
    private static let lively: Int64 = 50_000_000
    /// The interval of an app that floods: most requests are worth advice.
    private static let flood: Int64 = 10_000

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "requests, responses and notifications of \(EverydayTraffic.frameBytes) B in turn,",
            "64 a batch, on one thread; all = advice, facts, ring of 16 MiB and text lines",
        ])
        let traffic = EverydayTraffic(rounds: rounds, interval: lively)
        var formatted: [TrafficFormat: [Double]] = [:]
        for format in TrafficFormat.allCases {
            var chain = Chain(format: format)
            let micro = try chain.measure(traffic, setting)
            add(micro, "decode, validate, \(format.rawValue) lines", to: &findings)
            formatted[format] = micro.nanoseconds
        }
        var decoding = Chain(format: nil)
        add(try decoding.measure(traffic, setting), "decode, validate", to: &findings)
        var all = Chain(format: .text, watches: true)
        add(try all.measure(traffic, setting), "all", to: &findings)
        var flooded = Chain(format: .text, watches: true)
        let flood = EverydayTraffic(rounds: rounds, interval: flood)
        add(try flooded.measure(flood, setting), "all, in a flood", to: &findings)
        for (format, nanoseconds) in formatted.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            findings.bound(
                "600 B messages decoded, validated and formatted as \(format.rawValue)",
                1e9 / nanoseconds.median, .atLeast, 100_000, "1/s")
        }
        return findings
    }

    private static func add(_ micro: Micro, _ contestant: String, to findings: inout Findings) {
        let subject = "\(EverydayTraffic.frameBytes) B RPCs"
        findings.add(subject, contestant, micro, per: "message")
        findings.add(subject, contestant, "messages/s", micro.nanoseconds.map { 1e9 / $0 }, "1/s")
    }

    /// The observers as relayd has them, called one after the other.
    private struct Chain {
        private var decoder = TrafficDecoder()
        private var formatter: TrafficFormatter?
        private let advisor: TrafficAdvisor?
        private let ring: MessageRing?

        init(format: TrafficFormat?, watches: Bool = false) {
            formatter = format.map { TrafficFormatter(.init(format: $0)) }
            advisor = watches ? TrafficAdvisor(facts: SessionFacts()) : nil
            ring = watches ? MessageRing() : nil
        }

        mutating func measure(
            _ traffic: EverydayTraffic, _ setting: Setting
        ) throws -> Micro {
            for item in traffic.beginning { _ = observe(item) }
            return try Micro(setting, operations: traffic.messages) {
                var lines = 0
                for item in traffic.everyday { lines += observe(item) }
                guard formatter == nil || lines == traffic.messages else {
                    throw BenchmarkError("\(lines) lines, not \(traffic.messages)")
                }
            }
        }

        private mutating func observe(_ item: TapItem) -> Int {
            var entries: [TrafficEntry] = []
            decoder.receive(item, into: &entries)
            advisor?.consume(entries)
            ring?.consume(entries)
            return formatter?.lines(entries).count ?? 0
        }
    }
}
