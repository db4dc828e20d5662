/// The existing recordings: the answer to `GET /v1/recordings`.
package struct RecordingList: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    /// Directory of the recordings; nil where relayd has no place for them.
    package var directory: String?
    /// Newest first, at most `maximum`.
    package var recordings: [Item]
    /// Number of older ones that are not listed.
    package var more: Int

    /// As many as a person looks through, and as fit in one answer.
    package static let maximum = 1000

    package init(directory: String?, recordings: [Item] = [], more: Int = 0) {
        (self.directory, self.recordings, self.more) = (directory, recordings, more)
    }

    /// One file of a recording.
    package struct Item: Codable, Sendable, Equatable {
        /// Name of the file, without directory.
        package var name: String
        package var bytes: Int
        /// When the recording began, according to its name; nil for a file that relayd has not named.
        package var startedAt: Timestamp?
        /// When it was last written to.
        package var modifiedAt: Timestamp
        /// Whether it is being written to.
        package var isRecording: Bool

        package init(
            name: String, bytes: Int, startedAt: Timestamp?, modifiedAt: Timestamp,
            isRecording: Bool = false
        ) {
            (self.name, self.bytes, self.isRecording) = (name, bytes, isRecording)
            (self.startedAt, self.modifiedAt) = (startedAt, modifiedAt)
        }

        enum CodingKeys: String, CodingKey {
            case name, bytes
            case startedAt = "started_at"
            case modifiedAt = "modified_at"
            case isRecording = "is_recording"
        }
    }
}
