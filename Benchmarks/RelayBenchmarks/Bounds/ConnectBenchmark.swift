// What happens when far more apps come than a link has sessions.

import Foundation
import NIOCore
import RelayTesting
import SDLProtocol

/// A thousand connections at once, each asking for a session.
enum ConnectBenchmark: Benchmark {
    static let name = "connects"
    static let summary = "1000 apps connect at once: how many are served, refused, or fail"

    private static let apps = 1000
    private static let sessions = 255

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "sim:; connect without waiting, StartService, then what comes within 10 s; refused: a NAK"
        ])
        try allowDescriptors()
        let relayd = try RelaydProcess(setting, .init(), directory: setting.newDirectory())
        let port = try relayd.port()
        let start = Clock.now()
        var apps = try (0..<apps).map { _ in try Connecting(port: port) }
        let deadline = Clock.now() + 10
        while apps.contains(where: { $0.outcome == nil }), Clock.now() < deadline {
            try advance(&apps)
        }
        let seconds = Clock.now() - start
        var counts: [Outcome: Int] = [:]
        for app in apps { counts[app.outcome ?? .silence, default: 0] += 1 }
        for outcome in Outcome.allCases {
            findings.add(
                "\(Self.apps) connects", "relayd", outcome.rawValue,
                [Double(counts[outcome] ?? 0)], "")
        }
        findings.add("\(Self.apps) connects", "relayd", "time", [seconds], "s")
        findings.bound(
            "served of \(Self.apps)", Double(counts[.served] ?? 0), .atLeast, Double(sessions), "")
        findings.bound(
            "neither served nor refused of \(Self.apps)",
            Double(Self.apps - (counts[.served] ?? 0) - (counts[.refused] ?? 0)), .atMost, 0, "")
        for app in apps { app.end() }
        return findings
    }

    enum Outcome: String, CaseIterable {
        case served
        case refused
        case closed = "closed without a word"
        case reset
        case silence
    }

    /// Room for both ends' worth of descriptors here; relayd has a limit of its own.
    private static func allowDescriptors() throws {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        guard limit.rlim_cur < 4096 else { return }
        limit.rlim_cur = min(limit.rlim_max, 4096)
        guard setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            throw BenchmarkError.system("setrlimit")
        }
    }

    private static func advance(_ apps: inout [Connecting]) throws {
        let open = apps.indices.filter { apps[$0].outcome == nil }
        var requests = open.map { apps[$0].request }
        guard poll(&requests, nfds_t(requests.count), 100) >= 0 else {
            throw BenchmarkError.system("poll")
        }
        for (index, request) in zip(open, requests) where request.revents != 0 {
            apps[index].advance()
        }
    }

    /// One app on its way.
    private struct Connecting {
        private let descriptor: Int32
        private var hasAsked = false
        private var decoder = FrameDecoder(rules: .fromAccessory(), recovery: .fail)
        private(set) var outcome: Outcome?

        init(port: UInt16) throws {
            descriptor = try Socket.beginConnecting(port: port)
        }

        var request: pollfd {
            pollfd(fd: descriptor, events: Int16(hasAsked ? POLLIN : POLLOUT), revents: 0)
        }

        mutating func advance() {
            guard hasAsked else {
                hasAsked = true
                let wire = Traffic.wire([.startService()])
                if send(descriptor, wire, wire.count, Int32(MSG_NOSIGNAL)) != wire.count {
                    outcome = .reset
                }
                return
            }
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = recv(descriptor, &bytes, bytes.count, 0)
            guard count > 0 else {
                outcome = count == 0 ? .closed : .reset
                return
            }
            decoder.append(ByteBuffer(bytes: bytes[..<count]))
            while let frame = try? decoder.next() {
                switch frame.controlType {
                case .startServiceACK: outcome = .served
                case .startServiceNAK: outcome = .refused
                default: continue
                }
            }
        }

        func end() { close(descriptor) }
    }
}
