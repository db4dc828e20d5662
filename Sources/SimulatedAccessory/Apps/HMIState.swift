import SDLProtocol

/// The HMI level of an app and what comes with it, and who makes room for whom: the rules of
/// sdl_core 8.2.0.
struct HMIState: Hashable, Sendable {
    var level: HMILevel
    var isAudible: Bool
    var isStreamable: Bool

    /// What an app has at a level while it need not share it.
    init(_ level: HMILevel, of kind: AppKind) {
        self.level = level
        isAudible = level.isVisible && kind.isHeard
        isStreamable = level.isVisible && kind.streamsVideo
    }

    /// What is left to an app of this kind when another becomes FULL: LIMITED for one that is heard
    /// otherwise than the other, or streams when the other does not; else BACKGROUND.
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
    /// Seen or heard by the user.
    var isVisible: Bool { self == .full || self == .limited }
}
