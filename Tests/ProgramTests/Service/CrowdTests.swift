// More connections than there is room for: sessions, apps, descriptors.

import ControlAPI
import Glibc
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("Crowds at the built relayd", .serialized)
struct CrowdTests {
    /// What became of a connection that asked for a session.
    private enum Fate: Hashable {
        case served(UInt8)
        case refused(reason: String)
        case closed
        case failed(String)
    }

    private static let config = """
        sessions:
          farewell_timeout: 100ms
        log:
          traffic: false

        """

    @Test("of 1,000 apps that come at once 255 are served and the others refused in words")
    func thousand() async throws {
        try await Relayd.run(accessory: "sim:", config: Self.config) { relayd in
            try await relayd.until("the link is open") { $0.accessory.state == .open }
            let fates = await withTaskGroup(of: (Fate, FramePeer?).self) { group in
                for _ in 0..<1000 {
                    group.addTask { await Self.ask(relayd.port) }
                }
                var fates: [(Fate, FramePeer?)] = []
                for await fate in group { fates.append(fate) }
                return fates
            }
            var sessions: Set<UInt8> = []
            var reasons: [String: Int] = [:]
            for (fate, _) in fates {
                switch fate {
                case .served(let session): #expect(sessions.insert(session).inserted)
                case .refused(let reason): reasons[reason, default: 0] += 1
                case .closed: Issue.record("closed without a word")
                case .failed(let error): Issue.record("\(error)")
                }
            }
            #expect(sessions.count == 255)
            #expect(reasons.values.reduce(0, +) == 745)
            #expect(
                Set(reasons.keys).isSubset(of: [
                    "all 255 sessions are in use",
                    "relayd: 300 apps are connected already (apps.maximum)",
                ]), "\(reasons)")
            let status = try await relayd.status()
            #expect(status.link.sessions == 255)
            #expect(status.limitsHit.contains { $0.name == "apps.maximum" && $0.limit == 300 })
            try await relayd.process.errors.first(containing: "connection refused: 300 apps")

            for (_, peer) in fates { await peer?.close() }
            try await relayd.until("all have gone") { $0.apps.isEmpty && $0.link.sessions == 0 }
            let (fate, peer) = await Self.ask(relayd.port)
            guard case .served = fate else {
                Issue.record("relayd does not serve any more: \(fate)")
                return
            }
            await peer?.close()
        }
    }

    private static func ask(_ port: Int) async -> (Fate, FramePeer?) {
        var peer: FramePeer?
        do {
            let app = try await FramePeer.connect(port: port)
            peer = app
            try await app.send(.startService(headerVersion: 5))
            let answer = try await app.next()
            if answer.controlType == .startServiceACK { return (.served(answer.sessionID), app) }
            let reason = ControlPayload(answer).document?.string(ControlKey.reason)
            return (.refused(reason: reason ?? "none"), app)
        } catch FramePeer.Failure.closed {
            return (.closed, peer)
        } catch {
            return (.failed("\(error)"), peer)
        }
    }

    /// The processor time that relayd uses in a second with hardly anything to do.
    private static func processorSecondsOfASecond(
        _ relayd: Relayd, _ app: FramePeer, _ session: UInt8
    ) async throws -> Double {
        let before = try await relayd.processorSeconds()
        let end = ContinuousClock.now + .seconds(1)
        _ = try await relayd.status()
        try await app.send(.heartbeat(session: session))
        #expect(try await app.next().controlType == .heartbeatACK)
        // The second to measure; nothing is awaited.
        try await Task.sleep(until: end, clock: .continuous)
        return try await relayd.processorSeconds() - before
    }

    @Test("out of descriptors: apps that are connected go on, others wait and are served later")
    func descriptors() async throws {
        try await TemporaryDirectory.run { directory in
            let file = try directory.write(Self.config, to: "relayd.yaml")
            // The shell lowers both limits for relayd alone, and becomes relayd.
            let process = try await ChildProcess.start(
                "sh",
                [
                    "-c", "ulimit -n 64; exec \"$0\" \"$@\"", Program.relayd.path(),
                    "--config", file, "--accessory", "sim:", "--listen", "127.0.0.1:0",
                    "--control-socket", directory.file("relayd.sock"),
                ], environment: Program.environment())
            try await Relayd.run(process, in: directory) { relayd in
                try await relayd.process.errors.first(containing: "only 64 files may be open")
                try await relayd.until("the link is open") { $0.accessory.state == .open }
                let app = try await relayd.connectApp()
                let session = try await app.startSession().sessionID
                let calm = try await Self.processorSecondsOfASecond(relayd, app, session)
                var crowd: [FramePeer] = []
                for _ in 0..<100 { crowd.append(try await relayd.connectApp()) }
                try await relayd.process.errors.first(containing: "no app can connect")

                // relayctl gets through on the reserve; the processor is not kept busy.
                let crowded = try await Self.processorSecondsOfASecond(relayd, app, session)
                let status = try await relayd.status()
                #expect(status.limitsHit.contains { $0.name == "LimitNOFILE" && $0.limit == 64 })
                // A relayd that tries again and again uses all it gets; one that waits, as much as before.
                #expect(crowded < calm + 0.2, "\(crowded) s, without the crowd \(calm) s")

                for peer in crowd { await peer.close() }
                try await relayd.until("the crowd has gone") { $0.apps.count == 1 }
                let late = try await relayd.connectApp()
                _ = try await late.startSession()
                try await app.send(.heartbeat(session: session))
                #expect(try await app.next().controlType == .heartbeatACK)
            }
        }
    }
}

extension Frame {
    fileprivate static func heartbeat(session: UInt8) -> Frame {
        .control(.heartbeat, service: .control, session: session)
    }
}

extension Relayd {
    /// The processor time that relayd has used so far.
    fileprivate func processorSeconds() async throws -> Double {
        let path = "/proc/\(process.pid)/stat"
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemFailure("\(path) cannot be read") }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(descriptor, &bytes, bytes.count)
        let text = String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
        // Behind the name in brackets: state is field 3, utime and stime are 14 and 15 (proc(5)).
        let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12])
        else { throw SystemFailure("\(path) is not as expected") }
        return (user + system) / Double(sysconf(CInt(_SC_CLK_TCK)))
    }
}
