/// What a file that grows reserves on the disk ahead of its end: the kernel writes into room that is there
/// with less work than it has to find some for every piece. A value, without a file.
struct RoomAhead {
    /// Bytes that are reserved at once. Twice as many save nothing any more.
    static let stepBytes = 16 << 20
    /// A smaller file reserves nothing: it may be one of many on a small card.
    static let leastBytes = 1 << 20

    /// Where the file is to end: nothing is reserved behind it.
    private let limit: Int
    /// Where the room ends.
    private(set) var end = 0
    private var isRefused = false

    init(limit: Int) {
        self.limit = limit
    }

    /// - Parameter piece: Where in the file is to be written next.
    /// - Returns: What to reserve before, if anything.
    func step(before piece: Range<Int>) -> Range<Int>? {
        guard !isRefused, piece.lowerBound >= Self.leastBytes, piece.upperBound > end,
            piece.upperBound <= limit
        else { return nil }
        let start = max(end, piece.lowerBound)
        return start..<start + min(Self.stepBytes, limit - start)
    }

    /// - Parameter isRefused: The disk could not, or never can: it is not asked again. The next writes find out
    ///   what is wrong, behind its last free block. Some of the step may be reserved all the same.
    mutating func asked(for step: Range<Int>, isRefused: Bool) {
        end = step.upperBound
        self.isRefused = isRefused
    }
}
