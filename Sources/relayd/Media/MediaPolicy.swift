package import Media

/// What is taken out of the traffic while it passes: the section `media` of the configuration.
package struct MediaPolicy: Sendable, Equatable {
    /// What is written into files.
    package var saved: Set<MediaKind> = []
    /// Where files are; nil where the machine has no place for what outlives relayd.
    package var folder: String?
    /// Bytes of all files in the folder together, of whoever wrote them.
    package var folderBytes = 1 << 30
    /// Files in the folder.
    package var folderFiles = 10_000
    /// Bytes between the relay and what takes media out.
    package var queueBytes = 32 << 20
    /// Where players get video, on this machine; 0 for nowhere.
    package var videoPort = 0

    package init() {}

    /// - Parameter state: The directory for what outlives relayd; nil where there is none.
    package init(_ config: Config.Media, state: String?) {
        saved = Set(config.save)
        folder =
            switch config.directory {
            case "": nil
            case "auto": state.map { $0 + "/media" }
            default: config.directory
            }
        folderBytes = config.limit
        folderFiles = config.files
        queueBytes = config.queue
        videoPort = config.videoPort
    }

    var isOn: Bool { !kinds.isEmpty }

    /// What is taken out, for files or for players.
    var kinds: Set<MediaKind> { videoPort > 0 ? saved.union([.video]) : saved }

    /// Whether any of it is in audio and video services.
    var wantsStreams: Bool { kinds.contains(.video) || kinds.contains(.audio) }
}
