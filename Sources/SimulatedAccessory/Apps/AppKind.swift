/// What an app is for, as its registration says; decides what it keeps when the user picks another app.
struct AppKind: Hashable, Sendable {
    var isMedia = false
    var isNavigation = false
    var isCommunication = false
    var isProjection = false

    /// Can be heard while another app is on the screen.
    var isHeard: Bool { isMedia || isNavigation || isCommunication }
    /// May send video.
    var streamsVideo: Bool { isNavigation || isProjection }

    /// Whether both claim the same kind of audio source: there is one of each.
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
