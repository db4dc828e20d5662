// The scheduler of the link alone.

import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol

/// Takes a frame out and puts one of the same session in, with several sessions waiting.
enum SchedulerBenchmark: Benchmark {
    static let name = "scheduler"
    static let summary =
        "LinkScheduler: a frame out and one in, with 1, 32 and 255 sessions waiting"

    /// Stands for an app as the relay's handler does: by reference.
    private final class App: Hashable {
        static func == (left: App, right: App) -> Bool { left === right }
        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    }

    private static let frames = 50_000
    /// The number of frames of each session that wait all the time.
    private static let depth = 4

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "an app per session, four 1 KB frames of each waiting; from another module, so not",
            "specialised for its App: compare with itself only",
        ])
        for count in [1, 32, 255] {
            for service in [ServiceType.rpc, .bulk] {
                try measure(count, service, setting, &findings)
            }
        }
        return findings
    }

    private static func measure(
        _ count: Int, _ service: ServiceType, _ setting: Setting, _ findings: inout Findings
    ) throws {
        var scheduler = LinkScheduler<App>()
        var now = NIODeadline.uptimeNanoseconds(0)
        let lanes = (1...count).map { session in
            (
                app: App(),
                frame: Frame.data(session: UInt8(session), service: service, bytes: 1012)
            )
        }
        for _ in 0..<depth {
            for lane in lanes { scheduler.enqueue(lane.frame, from: .app(lane.app), at: now) }
        }
        let micro = try Micro(setting, operations: frames) {
            for _ in 0..<frames {
                // 1 KB at 10 MB/s.
                now = now + .microseconds(100)
                guard let entry = scheduler.next(at: now) else {
                    throw BenchmarkError("the scheduler lost frames")
                }
                scheduler.enqueue(entry.frame, from: entry.origin, at: now)
            }
        }
        let noun = count == 1 ? "session" : "sessions"
        findings.add("\(count) \(noun), \(service.name)", "LinkScheduler", micro, per: "frame")
    }
}
