/// Decides when to retry a recording of `record.always` that could not begin or ended early: soon at first, because
/// a full disk may have room again in a moment, then less often, because each try may log a line. A value, without
/// a clock.
struct AlwaysPatience {
    /// The pause between the end and the first try.
    static let shortest = Duration.seconds(1)
    /// The longest pause between two tries.
    static let longest = Duration.seconds(60)

    /// The next pause.
    private var pause = shortest

    /// - Parameter lasted: How long it had recorded; nil if it could not begin.
    /// - Returns: How long to wait.
    mutating func failed(after lasted: Duration?) -> Duration {
        // A recording that went well for a while has failed for another reason.
        if let lasted, lasted >= Self.longest { pause = Self.shortest }
        defer { pause = min(pause * 2, Self.longest) }
        return pause
    }
}
