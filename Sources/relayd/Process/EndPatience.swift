/// How long relayd waits for the readers of its last bytes when it ends. Pure: `LineWriter` uses it
/// for the log, `ControlClients` for the answers of the control API, and both check the reader.
///
/// Last bytes are late for two reasons, and only one is the reader's fault. A reader that takes nothing,
/// such as a stopped `less`, must not hold up the end. A reader that takes everything is itself waiting
/// for a relayd that gets no processor time on a busy machine; it gets its bytes.
package struct EndPatience: Sendable {
    /// Time between checks: how long a reader may take nothing. A third of what a person waits after
    /// ^C.
    package static let interval = Duration.seconds(1)

    /// Number of checks after which nobody is waited for.
    package static let looks = 4

    /// The longest wait of all.
    package static let longest = interval * looks

    /// Time between checks.
    package let interval: Duration
    private var looksLeft: Int

    package init(interval: Duration = Self.interval, looks: Int = Self.looks) {
        self.interval = interval
        looksLeft = looks
    }

    /// Uses up one of the checks.
    ///
    /// - Parameter isTaking: The reader has taken something since the last check, or would take more
    ///   now.
    /// - Returns: Whether to wait until the next one.
    package mutating func spendLook(isTaking: Bool) -> Bool {
        looksLeft -= 1
        return isTaking && looksLeft > 0
    }
}
