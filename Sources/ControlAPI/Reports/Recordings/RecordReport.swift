/// The state of recording: the answer to `GET /v1/record`, `POST /v1/record/start` and
/// `POST /v1/record/stop`.
package struct RecordReport: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    /// Directory of the recordings; null where relayd has no place for them.
    package var directory: String?
    /// The current recording.
    package var recording: Recording?
    /// The last recording that ended since relayd started.
    package var latest: Finished?
    /// How much of audio and video is recorded: "all" or "headers".
    package var streams: String
    /// Parameters whose values are masked: by the running recording, otherwise by the next one. The same
    /// applies to `directory`, `streams` and `whenBehind`.
    package var masked: [String]
    /// What happens when traffic arrives faster than the disk accepts it: "wait" or "miss".
    package var whenBehind: String
    /// Set while the disk accepts no data; null otherwise.
    package var diskStall: DiskStall?
    /// Why `record.always` records nothing; null while it records, and where it is false.
    package var problem: String?
    /// The flight recorder; null while it is off.
    package var flight: Flight?

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
        case diskStall = "disk_stall"
        case problem, flight
    }

    /// The latest traffic, kept in memory.
    package struct Flight: Codable, Sendable, Equatable {
        /// Maximum size in bytes.
        package var limit: Int
        /// Current size in bytes.
        package var keptBytes: Int
        /// When the oldest kept frame passed; null while none is kept.
        package var since: Timestamp?
        /// Frames that are kept.
        package var frames: Int
        /// Frames that passed in that time and were not seen.
        package var missedFrames: Int
        /// Events that save it to a file: "app_crash", "link_lost", "advice:CODE".
        package var saveOn: [String]
        /// Its latest files since relayd started, newest first.
        package var saved: [Saved]

        package init(
            limit: Int, keptBytes: Int = 0, since: Timestamp? = nil, frames: Int = 0,
            missedFrames: Int = 0, saveOn: [String] = [], saved: [Saved] = []
        ) {
            self.limit = limit
            self.keptBytes = keptBytes
            self.since = since
            self.frames = frames
            self.missedFrames = missedFrames
            self.saveOn = saveOn
            self.saved = saved
        }

        enum CodingKeys: String, CodingKey {
            case limit
            case keptBytes = "kept_bytes"
            case since, frames
            case missedFrames = "missed_frames"
            case saveOn = "save_on"
            case saved
        }
    }

    /// A file that the flight recorder has written.
    package struct Saved: Codable, Sendable, Equatable {
        /// An absolute path.
        package var file: String
        package var savedAt: Timestamp
        /// When the oldest frame in it passed, not counting state from before.
        package var beganAt: Timestamp
        package var frames: Int
        package var bytes: Int
        /// Frames that passed and are not in it.
        package var missedFrames: Int
        /// Why it was written, for people.
        package var reason: String
        /// Events of `save_on` that had happened; empty when it was saved on request.
        package var triggers: [String]

        package init(
            file: String, savedAt: Timestamp, beganAt: Timestamp, frames: Int, bytes: Int,
            missedFrames: Int = 0, reason: String, triggers: [String] = []
        ) {
            self.file = file
            self.savedAt = savedAt
            self.beganAt = beganAt
            self.frames = frames
            self.bytes = bytes
            self.missedFrames = missedFrames
            self.reason = reason
            self.triggers = triggers
        }

        enum CodingKeys: String, CodingKey {
            case file
            case savedAt = "saved_at"
            case beganAt = "began_at"
            case frames, bytes
            case missedFrames = "missed_frames"
            case reason, triggers
        }
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
        /// Why it ended by itself; null when it was stopped on request.
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

/// The answer to `POST /v1/record/save`.
package struct SaveReport: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    package var saved: RecordReport.Saved

    package init(saved: RecordReport.Saved) { self.saved = saved }
}

/// The disk of a recording has accepted no data for some seconds.
package struct DiskStall: Codable, Sendable, Equatable {
    /// Directory of the files: an absolute path.
    package var directory: String
    package var since: Timestamp
    /// Whether apps and head unit have to wait for the disk.
    package var trafficWaits: Bool

    package init(directory: String, since: Timestamp, trafficWaits: Bool) {
        self.directory = directory
        self.since = since
        self.trafficWaits = trafficWaits
    }

    enum CodingKeys: String, CodingKey {
        case directory, since
        case trafficWaits = "traffic_waits"
    }
}
