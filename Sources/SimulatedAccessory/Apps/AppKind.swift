/// What an app is for, as its registration says; decides what it keeps when another app is chosen.
struct AppKind: Hashable, Sendable {
    var isMedia = false
    var isNavigation = false
    var isCommunication = false
    var isProjection = false

    /// May be heard while another app is on the screen.
    var isHeard: Bool { isMedia || isNavigation || isCommunication }
    /// May send video.
    var streamsVideo: Bool { isNavigation || isProjection }

    /// Whether both want the same kind of place among what is heard: there is one of each.
    func sharesSound(with other: AppKind) -> Bool {
        isNavigation && other.isNavigation
            || isCommunication && other.isCommunication
            || isMediaOnly && other.isMediaOnly
            || !isHeard && !other.isHeard
    }

    private var isMediaOnly: Bool { isMedia && !isNavigation && !isCommunication }
}

extension AppKind {
    /// Reads `isMediaApplication` and `appHMIType` of RegisterAppInterface.
    init(isMedia: Bool, types: [String]) {
        self.isMedia = isMedia
        isNavigation = types.contains("NAVIGATION")
        isCommunication = types.contains("COMMUNICATION")
        isProjection = types.contains("PROJECTION")
    }
}
