package import Media

/// What is extracted from passing traffic: the section `media` of the configuration.
package struct MediaPolicy: Sendable, Equatable {
    /// What is written to files.
    package var saved: Set<MediaKind> = []
    /// The folder of the files; nil if the machine has no place for persistent files.
    package var folder: String?
    /// Maximum total bytes of all files in the folder, whoever wrote them.
    package var folderBytes = 1 << 30
    /// Maximum number of files in the folder.
    package var folderFiles = 10_000
    /// Bytes buffered between the relay and the media extraction.
    package var queueBytes = 32 << 20
    /// The port on this machine where players get video; 0 for none.
    package var videoPort = 0

    package init() {}

    /// - Parameter state: The state directory; nil if there is none.
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

    /// The kinds that are extracted, for files or for players.
    var kinds: Set<MediaKind> { videoPort > 0 ? saved.union([.video]) : saved }

    /// Whether any of it is in audio and video services.
    var wantsStreams: Bool { kinds.contains(.video) || kinds.contains(.audio) }
}
