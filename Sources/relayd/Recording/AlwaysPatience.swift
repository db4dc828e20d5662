/// When a recording of `record.always` that could not begin, or has ended early, is tried again: soon at first, because a
/// full disk may be free in a moment, and then less often, because each try may leave a line in the log. A value,
/// without a clock.
struct AlwaysPatience {
    /// Between the end and the first try.
    static let shortest = Duration.seconds(1)
    /// Between two tries at most.
    static let longest = Duration.seconds(60)

    /// The next pause.
    private var pause = shortest

    /// - Parameter lasted: How long it had recorded; nil when it could not begin.
    /// - Returns: How long to wait.
    mutating func failed(after lasted: Duration?) -> Duration {
        // One that went well for a while has failed for another reason.
        if let lasted, lasted >= Self.longest { pause = Self.shortest }
        defer { pause = min(pause * 2, Self.longest) }
        return pause
    }
}
