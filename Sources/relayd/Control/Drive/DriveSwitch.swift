package import ControlAPI
import Synchronization

/// Whether anybody may drive the conversation: `drive.enabled`, which a reload may change. Asked by
/// `ControlResponder` for every route with access `drive`.
package final class DriveSwitch: Sendable {
    private struct State {
        var isOn: Bool
        var ends: [@Sendable () -> Void] = []
    }

    private let state: Mutex<State>

    package init(_ isOn: Bool) {
        state = Mutex(State(isOn: isOn))
    }

    package var isOn: Bool {
        get { state.withLock { $0.isOn } }
        set {
            let ends = state.withLock { state in
                defer { state.isOn = newValue }
                return state.isOn && !newValue ? state.ends : []
            }
            for end in ends { end() }
        }
    }

    /// Registers `end` to be called when driving is turned off: what is driven then has to end, because
    /// nobody may end it afterwards.
    func whenOff(_ end: @escaping @Sendable () -> Void) {
        state.withLock { $0.ends.append(end) }
    }

    /// - Throws: An error that says what to do, while driving is off.
    package func check() throws(APIError) {
        guard !isOn else { return }
        throw APIError(.driveOff, Self.remedy)
    }

    /// The reason reported when something ends because driving was turned off.
    static let off = "drive.enabled is off now"

    /// What to do while driving is off.
    static let remedy = """
        driving the conversation is off; set drive.enabled: true in relayd's configuration and reload \
        it (relayctl reload)
        """
}
