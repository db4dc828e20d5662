/// The space a growing file reserves on the disk beyond its end: writing into reserved space is less work
/// for the kernel than finding space for every piece. A value, without a file.
struct RoomAhead {
    /// Bytes reserved at once. Twice as many save nothing more.
    static let stepBytes = 16 << 20
    /// A smaller file reserves nothing: it may be one of many on a small card.
    static let leastBytes = 1 << 20

    /// Maximum size of the file: nothing is reserved beyond it.
    private let limit: Int
    /// The end of the reserved space.
    private(set) var end = 0
    private var isRefused = false

    init(limit: Int) {
        self.limit = limit
    }

    /// - Parameter piece: The range of the file to be written next.
    /// - Returns: The range to reserve first, if any.
    func step(before piece: Range<Int>) -> Range<Int>? {
        guard !isRefused, piece.lowerBound >= Self.leastBytes, piece.upperBound > end,
            piece.upperBound <= limit
        else { return nil }
        let start = max(end, piece.lowerBound)
        return start..<start + min(Self.stepBytes, limit - start)
    }

    /// - Parameter isRefused: The disk could not reserve the space, or never can: it is not asked again. The
    ///   next writes will show what is wrong, after the last free block. Part of the step may be reserved all
    ///   the same.
    mutating func asked(for step: Range<Int>, isRefused: Bool) {
        end = step.upperBound
        self.isRefused = isRefused
    }
}
