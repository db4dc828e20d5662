/// How visible an app is on the head unit's screen; told by OnHMIStatus.
public enum HMILevel: String, Hashable, Sendable, CaseIterable {
    /// On screen, may do everything its permissions allow.
    case full = "FULL"
    /// Not on screen, but allowed to play audio or to stream.
    case limited = "LIMITED"
    /// Running, unseen and unheard.
    case background = "BACKGROUND"
    /// Not activated by the user yet, or closed.
    case none = "NONE"
}
