import ControlAPI
import Synchronization

@testable import relayctl

/// Snapshots and a recording output for the relayctl tests.
enum Samples {
    static let start = Timestamp(millisecondsSince1970: 1_795_257_067_042)
    static let now = Timestamp(millisecondsSince1970: 1_795_257_067_042 + 130_000)

    static let relayd = RelaydStatus(
        version: "0.1.0", pid: 42, startedAt: start, uptimeSeconds: 130)

    static func snapshot(
        accessory: AccessoryStatus = AccessoryStatus(
            kind: "sim", address: "sim:", state: .open, since: start, attempts: 1, openedCount: 1),
        link: LinkStatus = LinkStatus(state: .idle),
        server: ServerStatus = ServerStatus(state: .listening, endpoints: ["127.0.0.1:2776"]),
        apps: [AppStatus] = [], departures: [AppDeparture] = [], log: LogStatus = LogStatus(),
        limits: [LimitHit] = []
    ) -> StatusSnapshot {
        StatusSnapshot(
            relayd: relayd, accessory: accessory, link: link, server: server, apps: apps,
            recentDepartures: departures, log: log, limitsHit: limits)
    }

    static let registeredApp = AppStatus(
        id: 1, peer: "127.0.0.1:40112", connectedAt: start, state: .registered,
        appName: "Relay Test App", appID: "4711", sessions: [1], protocolVersion: "5.4.0",
        hmiLevel: "FULL", framesFromApp: 20, bytesFromApp: 304_742, framesToApp: 33,
        bytesToApp: 33_280)

    static let busy = snapshot(
        link: LinkStatus(state: .sessions, sessions: 1, protocolVersion: "5.4.0"),
        apps: [
            registeredApp,
            AppStatus(
                id: 2, peer: "127.0.0.1:40114", connectedAt: start, state: .connected),
        ])

    static let broken = snapshot(
        accessory: AccessoryStatus(
            kind: "serial", address: "serial:/dev/ttyUSB0?baud=115200", state: .waiting,
            since: start,
            reason: AccessoryReason(
                code: "not_found", message: "/dev/ttyUSB0: no such device",
                remedy: "plug the device in; relayd opens it by itself"),
            attempts: 12),
        link: LinkStatus(state: .noAccessory))

    static func status(_ snapshot: StatusSnapshot) throws -> ControlClient.Answer<StatusSnapshot> {
        ControlClient.Answer(
            value: snapshot,
            json: String(decoding: try APICoding.encode(snapshot), as: UTF8.self))
    }
}

/// Records a command's output.
final class Recorder: Sendable {
    private let texts = Mutex<[(Output.Stream, String)]>([])

    func output(
        isTerminal: Bool = false, isDumb: Bool = false, columns: Int = 100, rows: Int = 40
    ) -> Output {
        Output(
            isTerminal: isTerminal, isDumb: isDumb, size: { (columns, rows) },
            sink: { [self] stream, text in
                texts.withLock { $0.append((stream, text)) }
                return true
            })
    }

    func text(_ stream: Output.Stream = .standard) -> String {
        writes(stream).joined()
    }

    func writes(_ stream: Output.Stream = .standard) -> [String] {
        texts.withLock { $0.filter { $0.0 == stream }.map(\.1) }
    }
}
