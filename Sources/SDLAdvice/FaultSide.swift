/// The side that caused a failure: the app, relayd or the head unit. This is the first question when an app
/// does not start. Reported in the log, in advice and in the control API.
package enum FaultSide: String, Hashable, Sendable, CaseIterable {
    /// The app asks for something that it may not have, or at the wrong time.
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
