/// The recordings that there are: the answer to `GET /v1/recordings`.
package struct RecordingList: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    /// Where they are; nil where relayd has no place for them.
    package var directory: String?
    /// The newest first, at most `maximum`.
    package var recordings: [Item]
    /// Older ones that are not listed.
    package var more: Int

    /// What a person looks through, and one answer holds.
    package static let maximum = 1000

    package init(directory: String?, recordings: [Item] = [], more: Int = 0) {
        (self.directory, self.recordings, self.more) = (directory, recordings, more)
    }

    /// One file of a recording.
    package struct Item: Codable, Sendable, Equatable {
        /// Of the file, without directory.
        package var name: String
        package var bytes: Int
        /// When the recording began, as its name says; nil for a file that relayd has not named.
        package var startedAt: Timestamp?
        /// When it was written to last.
        package var modifiedAt: Timestamp
        /// Whether it is being written.
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
