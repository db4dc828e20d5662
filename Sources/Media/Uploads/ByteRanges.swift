/// The byte ranges of a file that have been received.
struct ByteRanges: Hashable, Sendable {
    /// In order, not touching each other.
    private(set) var ranges: [Range<Int>] = []

    /// - Returns: Whether the range was added; false if there would be too many separate ranges.
    mutating func insert(_ range: Range<Int>) -> Bool {
        guard !range.isEmpty else { return true }
        var joined = range
        // Merges the ranges that touch it.
        let first = ranges.firstIndex { $0.upperBound >= joined.lowerBound } ?? ranges.count
        var end = first
        while end < ranges.count, ranges[end].lowerBound <= joined.upperBound {
            joined =
                min(
                    joined.lowerBound, ranges[end].lowerBound)..<max(
                    joined.upperBound, ranges[end].upperBound)
            end += 1
        }
        if first == end, ranges.count >= MediaLimits.maximumUploadRanges { return false }
        ranges.replaceSubrange(first..<end, with: [joined])
        return true
    }

    var count: Int { ranges.reduce(0) { $0 + $1.count } }

    /// The first missing bytes before `end`; nil when there are none.
    func firstHole(before end: Int) -> Range<Int>? {
        let first = ranges.first ?? 0..<0
        if first.lowerBound > 0 || first.isEmpty {
            let hole = 0..<min(end, first.isEmpty ? end : first.lowerBound)
            return hole.isEmpty ? nil : hole
        }
        guard first.upperBound < end else { return nil }
        let next = ranges.count > 1 ? ranges[1].lowerBound : end
        return first.upperBound..<min(end, next)
    }

    /// The end of the last received byte.
    var end: Int { ranges.last?.upperBound ?? 0 }
}
