/// A line of a stream that is none of its messages or events: it has no `n`.
///
/// The first line of a stream names the instance. When nothing was sent for some time, a line with
/// only `next` shows that relayd is still there, and moves the cursor past what the filter left out.
package struct StreamNote: Codable, Sendable, Equatable {
    /// First line: tells the numbers of this run of relayd from those of another.
    package var instance: String?
    /// First line: numbers of the oldest and the latest one; absent when there is none.
    package var first: Int?
    package var latest: Int?
    /// So many, whatever they were, came and went before this reader took them.
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
