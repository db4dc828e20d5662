package import ControlAPI
import Synchronization

/// Whether anybody may drive the conversation: `drive.enabled`, which a reload may change. Asked by
/// `ControlResponder` for every route with access `drive`.
package final class DriveSwitch: Sendable {
    private let state: Mutex<Bool>

    package init(_ isOn: Bool) {
        state = Mutex(isOn)
    }

    package var isOn: Bool {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }

    /// - Throws: What to do, while it is off.
    package func check() throws(APIError) {
        guard !isOn else { return }
        throw APIError(.driveOff, Self.remedy)
    }

    /// What to do while it is off.
    static let remedy = """
        driving the conversation is off; set drive.enabled: true in relayd's configuration and reload \
        it (relayctl reload)
        """
}
