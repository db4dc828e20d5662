import AccessoryLinks
import ControlAPI
import Synchronization

/// The latest state of the accessory's link, in the terms of the status: set by the link
/// supervisor, read by the status.
final class AccessoryMonitor: Sendable {
    private struct State {
        var link = ConnectionState.opening
        var since = Timestamp.now
        var kind: String
        var address: String
        /// What the transport knows about its links.
        var details: LinkDetails?
    }

    private let state: Mutex<State>

    /// Fixed while relayd runs.
    let language: AccessoryAddress.Language

    init(
        kind: String, address: String, language: AccessoryAddress.Language = .sdl,
        details: LinkDetails? = nil
    ) {
        self.language = language
        state = Mutex(State(kind: kind, address: address, details: details))
    }

    var kind: String { state.withLock(\.kind) }
    var address: String { state.withLock(\.address) }

    /// Switches to another accessory; losses on the way to an earlier one no longer count.
    func moved(toKind kind: String, address: String, details: LinkDetails?) {
        state.withLock { $0 = State(kind: kind, address: address, details: details) }
    }

    /// The open device in words, the bytes lost in flight each way, and the time of the last loss;
    /// nil if the transport cannot know.
    var details: (device: String?, lostBytesIn: Int?, lostBytesOut: Int?, lostAt: Timestamp?) {
        guard let details = state.withLock({ $0.details }) else { return (nil, nil, nil, nil) }
        let values = details.values
        guard details.countsLosses else { return (values.device, nil, nil, nil) }
        return (
            values.device, values.lostBytesIn, values.lostBytesOut,
            values.lostAt.map { Timestamp(millisecondsSince1970: $0) }
        )
    }

    /// System calls that hang in a device's driver; nil if there are none.
    var hanging: [String]? {
        let calls = DeviceCalls.shared.hanging.map { "\($0.call) \($0.path)" }
        return calls.isEmpty ? nil : calls
    }

    /// The state that matches what the hub said between the two readings of `current`. The hub knows
    /// that a link has begun or ended a moment before the link supervisor reports it, and a link is
    /// open only if the hub has counted it. If a link has just ended, the reason is not known yet, and
    /// the next step is to open it again.
    static func state(isUp: Bool, _ earlier: Current, _ later: Current) -> Current {
        switch (isUp, earlier.state, later.state) {
        case (true, _, .open): later
        case (true, .open, _): earlier
        case (true, _, _): (.open, .now, nil, 0)
        case (false, .open, .open): (.opening, .now, nil, 0)
        case (false, _, .open): earlier
        case (false, _, _): later
        }
    }

    func changed(to link: ConnectionState) {
        state.withLock { state in
            // Another failed attempt is not a new state.
            if !link.isSameKind(as: state.link) { state.since = .now }
            state.link = link
        }
    }

    /// The state of the link; attempts are counted while it waits.
    typealias Current = (
        state: AccessoryState, since: Timestamp, reason: AccessoryReason?, attempts: Int
    )

    var current: Current {
        let (link, since) = state.withLock { ($0.link, $0.since) }
        switch link {
        case .opening: return (.opening, since, nil, 0)
        case .listening(let place, _):
            let reason = AccessoryReason(
                code: "listening", message: "relayd listens at \(place)",
                remedy: "let the head unit connect; relayd waits for as long as it takes")
            return (.listening, since, reason, 0)
        case .open: return (.open, since, nil, 0)
        case .closed: return (.closed, since, nil, 0)
        case .waiting(let problem, _, let attempts):
            let reason = AccessoryReason(
                code: problem.code.rawValue, message: problem.message,
                remedy: problem.remedy ?? "relayd retries automatically")
            return (.waiting, since, reason, attempts)
        }
    }
}

extension ConnectionState {
    fileprivate func isSameKind(as other: Self) -> Bool {
        switch (self, other) {
        case (.opening, .opening), (.listening, .listening), (.open, .open), (.waiting, .waiting),
            (.closed, .closed):
            true
        default: false
        }
    }
}

extension AccessoryAddress.Language {
    /// The language in the terms of the control API.
    var spoken: AccessoryProtocol {
        switch self {
        case .sdl: .sdl
        case .openxc: .openxc
        }
    }
}
