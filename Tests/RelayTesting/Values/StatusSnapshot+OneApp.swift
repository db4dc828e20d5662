// A status for tests of the control API that are not about it.

package import ControlAPI

extension StatusSnapshot {
    /// A simulated head unit and one app that has just connected.
    package static let oneApp = StatusSnapshot(
        relayd: RelaydStatus(
            pid: 1, startedAt: Timestamp(millisecondsSince1970: 0), uptimeSeconds: 1),
        accessory: AccessoryStatus(
            kind: "sim", address: "sim:", state: .open, since: Timestamp(millisecondsSince1970: 0)),
        link: LinkStatus(state: .idle),
        server: ServerStatus(state: .listening, endpoints: ["127.0.0.1:2776"]),
        apps: [
            AppStatus(
                id: 1, peer: "127.0.0.1:40112", connectedAt: Timestamp(millisecondsSince1970: 0),
                state: .connected)
        ])
}
