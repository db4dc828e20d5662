// What a frame costs the hub.

import NIOCore
import NIOPosix

/// A relay whose link and app are socketpairs, and the numbers of its event-loop thread.
enum HubBenchmark: Benchmark {
    static let name = "hub"
    static let summary = "the hub between socketpairs: cost per 1 KB frame on the event loop"

    private static let frameBytes = 1024

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "thread time and mallocs of the event loop alone; a second thread writes 64 frames at",
            "once and a third reads; decoding on runs the whole observer, off empties the tap",
        ])
        for decodes in [false, true] {
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            let hub = try await HubInProcess(on: group.next(), decodes: decodes)
            for direction in StreamDirection.allCases {
                let subject = "1 KB \(direction.rawValue), decoding \(decodes ? "on" : "off")"
                let (nanoseconds, mallocs) = try measure(hub, direction, setting)
                findings.add(subject, "event loop", "ns/frame", nanoseconds, "ns")
                findings.add(subject, "event loop", "mallocs/frame", mallocs, "")
            }
            await hub.close()
            try await group.shutdownGracefully()
        }
        return findings
    }

    private static func measure(
        _ hub: HubInProcess, _ direction: StreamDirection, _ setting: Setting
    ) throws -> (nanoseconds: [Double], mallocs: [Double]) {
        let chunk = Traffic.wire(
            (1...64).map { number in
                direction == .fromApp
                    ? Traffic.upload(
                        session: hub.session, bytes: frameBytes, message: UInt32(number),
                        correlation: Int32(number))
                    : Traffic.download(
                        session: hub.session, bytes: frameBytes, message: UInt32(number))
            })
        let chunks = setting.isQuick ? 100 : 1000
        _ = try hub.move(chunk, chunks / 4, direction)
        var (nanoseconds, mallocs): ([Double], [Double]) = ([], [])
        for _ in 0..<setting.rounds {
            let used = try hub.move(chunk, chunks, direction)
            nanoseconds.append(Double(used.nanoseconds) / Double(chunks * 64))
            mallocs.append(Double(used.mallocs) / Double(chunks * 64))
        }
        return (nanoseconds, mallocs)
    }
}
