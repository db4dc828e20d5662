import ControlAPI

/// Snapshots that the control API tests share.
enum Samples {
    static let start = Timestamp(millisecondsSince1970: 1_795_257_067_042)

    static func accessory(
        _ state: AccessoryState = .open, reason: AccessoryReason? = nil
    ) -> AccessoryStatus {
        AccessoryStatus(kind: "sim", address: "sim:", state: state, since: start, reason: reason)
    }

    static func app(_ id: Int, _ state: AppState) -> AppStatus {
        AppStatus(id: id, peer: "127.0.0.1:\(40_000 + id)", connectedAt: start, state: state)
    }

    static let listening = ServerStatus(state: .listening, endpoints: ["127.0.0.1:2776"])
}
