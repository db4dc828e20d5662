/// What is being recorded: the answer to `GET /v1/record`, `POST /v1/record/start` and
/// `POST /v1/record/stop`.
package struct RecordReport: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    /// Where recordings are; null where relayd has no place for them.
    package var directory: String?
    /// What runs now.
    package var recording: Recording?
    /// What ended last since relayd started.
    package var latest: Finished?
    /// What is recorded of audio and video: "all" or "headers".
    package var streams: String
    /// Parameters whose values are overwritten.
    package var masked: [String]
    /// What happens when traffic comes faster than the disk takes it: "wait" or "miss".
    package var whenBehind: String

    package init(
        directory: String?, recording: Recording? = nil, latest: Finished? = nil,
        streams: String = "all", masked: [String] = [], whenBehind: String = "wait"
    ) {
        self.directory = directory
        self.recording = recording
        self.latest = latest
        self.streams = streams
        self.masked = masked
        self.whenBehind = whenBehind
    }

    enum CodingKeys: String, CodingKey {
        case schema, directory, recording, latest, streams, masked
        case whenBehind = "when_behind"
    }

    /// A recording that runs.
    package struct Recording: Codable, Sendable, Equatable {
        package var name: String
        /// The file that is being written: an absolute path.
        package var file: String
        package var startedAt: Timestamp
        /// Files so far, removed ones included.
        package var files: Int
        /// Frames that are in the files.
        package var frames: Int
        /// Bytes of the files.
        package var bytes: Int
        /// Frames that passed and are in no file.
        package var missedFrames: Int

        package init(
            name: String, file: String, startedAt: Timestamp, files: Int = 1, frames: Int = 0,
            bytes: Int = 0, missedFrames: Int = 0
        ) {
            self.name = name
            self.file = file
            self.startedAt = startedAt
            self.files = files
            self.frames = frames
            self.bytes = bytes
            self.missedFrames = missedFrames
        }

        enum CodingKeys: String, CodingKey {
            case name, file
            case startedAt = "started_at"
            case files, frames, bytes
            case missedFrames = "missed_frames"
        }
    }

    /// A recording that has ended.
    package struct Finished: Codable, Sendable, Equatable {
        package var name: String
        /// The last file: an absolute path.
        package var file: String
        package var startedAt: Timestamp
        package var endedAt: Timestamp
        package var files: Int
        package var frames: Int
        package var bytes: Int
        package var missedFrames: Int
        /// Why it ended by itself; null when it was stopped.
        package var problem: String?

        package init(_ recording: Recording, at end: Timestamp, problem: String? = nil) {
            name = recording.name
            file = recording.file
            startedAt = recording.startedAt
            endedAt = end
            files = recording.files
            frames = recording.frames
            bytes = recording.bytes
            missedFrames = recording.missedFrames
            self.problem = problem
        }

        enum CodingKeys: String, CodingKey {
            case name, file
            case startedAt = "started_at"
            case endedAt = "ended_at"
            case files, frames, bytes
            case missedFrames = "missed_frames"
            case problem
        }
    }
}
