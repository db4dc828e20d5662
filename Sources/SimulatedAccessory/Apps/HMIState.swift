import SDLProtocol

/// The HMI level of an app with its sound and streaming states, and which apps make room for which: the rules of
/// sdl_core 8.2.0.
struct HMIState: Hashable, Sendable {
    var level: HMILevel
    var isAudible: Bool
    var isStreamable: Bool

    /// The state of an app at a level that it need not share.
    init(_ level: HMILevel, of kind: AppKind) {
        self.level = level
        isAudible = level.isVisible && kind.isHeard
        isStreamable = level.isVisible && kind.streamsVideo
    }

    /// What an app of this kind keeps when another becomes FULL: LIMITED if it has another kind of sound than that
    /// app, or streams and that app does not; else BACKGROUND.
    func makingRoom(for front: AppKind, kind: AppKind) -> HMIState {
        guard level.isVisible else { return self }
        var state = self
        state.isAudible = kind.isHeard && !kind.sharesSound(with: front)
        state.isStreamable = kind.streamsVideo && !front.streamsVideo
        state.level = state.isAudible || state.isStreamable ? .limited : .background
        return state
    }
}

extension HMILevel {
    /// Whether the user sees or hears the app.
    var isVisible: Bool { self == .full || self == .limited }
}
