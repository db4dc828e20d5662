/// Whose doing a failure is, the first question of anybody whose app does not start: mine, relayd's
/// or the head unit's? Told in the log, in advice and in the control API.
package enum FaultSide: String, Hashable, Sendable, CaseIterable {
    /// The app asks for what it may not have, or at the wrong time.
    case app
    /// relayd refused it, or lost the answer.
    case relayd
    /// The head unit is absent, silent, full or unable.
    case headUnit = "head_unit"

    /// For people.
    package var name: String {
        switch self {
        case .app: "app"
        case .relayd: "relayd"
        case .headUnit: "head unit"
        }
    }
}
