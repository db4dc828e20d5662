/// The media extracted from the traffic while it passes: pictures, sound and files.
package struct MediaStatus: Codable, Sendable, Equatable {
    /// Directory of the files: an absolute path; null when none are written.
    package var directory: String?
    /// What is written: "video", "audio", "speech", "file".
    package var save: [String]
    /// Files that were begun.
    package var files: Int
    /// Number of these that are being written.
    package var openFiles: Int
    /// Bytes that were written.
    package var bytes: Int
    /// Frames that passed and were not seen.
    package var missedFrames: Int
    /// Address where players get video, such as "127.0.0.1:2778"; null when there is none.
    package var videoAddress: String?
    /// Players that are connected.
    package var players: Int
    /// Why something is missing, for people; null when nothing is wrong.
    package var problem: String?

    package init(
        directory: String? = nil, save: [String] = [], files: Int = 0, openFiles: Int = 0,
        bytes: Int = 0, missedFrames: Int = 0, videoAddress: String? = nil, players: Int = 0,
        problem: String? = nil
    ) {
        self.directory = directory
        self.save = save
        self.files = files
        self.openFiles = openFiles
        self.bytes = bytes
        self.missedFrames = missedFrames
        self.videoAddress = videoAddress
        self.players = players
        self.problem = problem
    }

    enum CodingKeys: String, CodingKey {
        case directory, save, files
        case openFiles = "open_files"
        case bytes
        case missedFrames = "missed_frames"
        case videoAddress = "video_address"
        case players, problem
    }
}
