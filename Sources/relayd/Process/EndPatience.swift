/// How long the readers of relayd's last bytes are waited for when it ends. Pure: `LineWriter` asks
/// for the log, `ControlClients` for the answers of the control API, and both look at the reader.
///
/// Last bytes are late for two reasons, and only one of them is the reader's. A reader that takes
/// nothing, a stopped `less` for instance, must not hold up the end. One that takes all it is given waits
/// itself for a relayd that a busy machine gives no processor time; it gets its bytes.
package struct EndPatience: Sendable {
    /// From one look to the next: what a reader may take nothing for. A third of what a person waits
    /// after ^C.
    package static let interval = Duration.seconds(1)

    /// Looks after which nobody is waited for.
    package static let looks = 4

    /// The longest wait of all.
    package static let longest = interval * looks

    /// From one look to the next.
    package let interval: Duration
    private var looksLeft: Int

    package init(interval: Duration = Self.interval, looks: Int = Self.looks) {
        self.interval = interval
        looksLeft = looks
    }

    /// One of the looks is over.
    ///
    /// - Parameter isTaking: The reader has taken something since the last look, or would take more now.
    /// - Returns: Whether to wait until the next one.
    package mutating func spendLook(isTaking: Bool) -> Bool {
        looksLeft -= 1
        return isTaking && looksLeft > 0
    }
}
