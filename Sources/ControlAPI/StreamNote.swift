/// A line of a stream that is not a message or an event: it has no `n`.
///
/// The first line of a stream names the instance. When nothing was sent for some time, a line with only
/// `next` shows that relayd is alive, and moves the cursor past filtered entries.
package struct StreamNote: Codable, Sendable, Equatable {
    /// First line: identifies the run of relayd that the numbers belong to.
    package var instance: String?
    /// First line: numbers of the oldest and the latest entry; absent when there is none.
    package var first: Int?
    package var latest: Int?
    /// Number of entries, of any kind, that came and went before this reader took them.
    package var missed: Int?
    /// The cursor to go on from.
    package var next: Int?

    package init(
        instance: String? = nil, first: Int? = nil, latest: Int? = nil, missed: Int? = nil,
        next: Int? = nil
    ) {
        self.instance = instance
        self.first = first
        self.latest = latest
        self.missed = missed
        self.next = next
    }
}
