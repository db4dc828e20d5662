// What fault rules cost the traffic that they do not concern.

import NIOCore
import NIOPosix
import RelayCore

/// The hub between socketpairs with no rule, and with 100 rules of which none takes anything: both in turn,
/// on the same hub.
enum FaultRulesBenchmark: Benchmark {
    static let name = "fault-rules"
    static let summary = "100 fault rules that take nothing: cost per frame on the event loop"

    private static let rules = 100
    /// How often the two take turns within a round.
    private static let turns = 8

    /// The frames that pass.
    private enum Load: String, CaseIterable {
        case rpc = "64 B RPC"
        case video = "16 KB video"

        var frames: Int { self == .rpc ? 256 : 16 }

        func chunk(_ direction: StreamDirection, session: UInt8) -> [UInt8] {
            Traffic.wire(
                (1...UInt32(frames)).map { number in
                    switch self {
                    case .video:
                        Traffic.video(session: session, bytes: 16 << 10, message: number)
                    case .rpc where direction == .fromApp:
                        Traffic.request(
                            session: session, bytes: 64, message: number,
                            correlation: Int32(number))
                    case .rpc:
                        Traffic.response(
                            session: session, bytes: 64, message: number,
                            correlation: Int32(number))
                    }
                })
        }
    }

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "thread time of the event loop, log off; rules are for other apps and other RPCs;",
            "no rule and \(rules) rules in turn, \(turns) times a round, each without its first frames, which",
            "all rules look at",
        ])
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let hub = try await HubInProcess(on: group.next(), decodes: false)
        for load in Load.allCases {
            for direction in StreamDirection.allCases {
                let subject = "\(load.rawValue) \(direction.rawValue)"
                let (none, all) = try await compare(load, direction, hub, setting)
                findings.add(subject, "no rule", "ns/frame", none, "ns")
                findings.add(subject, "\(rules) rules", "ns/frame", all, "ns")
                findings.bound(
                    "\(subject): \(rules) rules / no rule", all.ratios(to: none).median, .atMost,
                    1.05, "×")
            }
        }
        await hub.close()
        try await group.shutdownGracefully()
        return findings
    }

    /// - Returns: Nanoseconds per frame of each round, without rules and with them.
    private static func compare(
        _ load: Load, _ direction: StreamDirection, _ hub: HubInProcess, _ setting: Setting
    ) async throws -> (none: [Double], all: [Double]) {
        let chunk = load.chunk(direction, session: hub.session)
        let chunks = setting.isQuick ? 20 : 100
        let frames = Double(chunks * load.frames * turns)
        _ = try hub.move(chunk, chunks, direction)
        var (none, all): ([Double], [Double]) = ([], [])
        for _ in 0..<setting.rounds {
            var used = (none: 0, all: 0)
            for turn in 0..<turns {
                // Neither is always the first.
                for hasRules in turn.isMultiple(of: 2) ? [false, true] : [true, false] {
                    if hasRules { try await addRules(to: hub) }
                    // All rules look at the first frame of a kind; the frames after it are measured.
                    _ = try hub.move(chunk, 1, direction)
                    let nanoseconds = try hub.move(chunk, chunks, direction).nanoseconds
                    if hasRules {
                        used.all += nanoseconds
                        _ = try await hub.relay.removeFaults()
                    } else {
                        used.none += nanoseconds
                    }
                }
            }
            none.append(Double(used.none) / frames)
            all.append(Double(used.all) / frames)
        }
        return (none, all)
    }

    private static func addRules(to hub: HubInProcess) async throws {
        let filters = [
            "app:other-%", "app:other-% rpc:Show", "rpc:PutFile param.syncFileName:icon%",
            "from:unit rpc:OnButtonPress param.customButtonID=%", "app:other-% service:video",
        ]
        let made = try (0..<rules).map { number in
            try FaultRule(
                filter: filters[number % filters.count]
                    .split(separator: "%", omittingEmptySubsequences: false)
                    .joined(separator: "\(number)"),
                action: number.isMultiple(of: 2) ? "delay 1s" : "drop", isHeadUnitReal: false)
        }
        let facts = FaultAppFacts(connection: 1, name: "Benchmark 1", appID: "bench-1")
        _ = try await hub.relay.addFaults(made, knowing: [AppID(rawValue: 1): facts])
    }
}
