// Regular expressions for ranges of whole numbers, with which JSON Schema can bound a number that precedes a
// unit.

/// A regular expression that matches the decimal digits of the numbers in a range, and nothing else.
enum NumberPattern {
    /// - Parameter range: Starts at 0 or above. Leading zeros are not matched.
    static func text(_ range: ClosedRange<Int>) -> String {
        let (low, high) = (digits(range.lowerBound), digits(range.upperBound))
        var parts: [String] = []
        for length in low.count...high.count {
            let first = length == low.count ? low : [1] + Array(repeating: 0, count: length - 1)
            let last = length == high.count ? high : Array(repeating: 9, count: length)
            parts += between(first[...], last[...])
        }
        return parts.count == 1 ? parts[0] : "(?:\(parts.joined(separator: "|")))"
    }

    private static func digits(_ number: Int) -> [Int] {
        String(number).compactMap(\.wholeNumberValue)
    }

    /// Alternatives for the numbers from `low` to `high`, which have the same number of digits.
    private static func between(_ low: ArraySlice<Int>, _ high: ArraySlice<Int>) -> [String] {
        guard let first = low.first, let last = high.first else { return [""] }
        let (lowRest, highRest) = (low.dropFirst(), high.dropFirst())
        let isFromZero = lowRest.allSatisfy { $0 == 0 }
        let isToNine = highRest.allSatisfy { $0 == 9 }
        if first == last, !(isFromZero && isToNine) {
            return between(lowRest, highRest).map { "\(first)\($0)" }
        }
        var parts: [String] = []
        let nines = Array(repeating: 9, count: lowRest.count)[...]
        let zeros = Array(repeating: 0, count: lowRest.count)[...]
        if !isFromZero { parts += between(lowRest, nines).map { "\(first)\($0)" } }
        let (from, to) = (isFromZero ? first : first + 1, isToNine ? last : last - 1)
        if from <= to {
            let digit = from == to ? "\(from)" : "[\(from)-\(to)]"
            switch lowRest.count {
            case 0: parts.append(digit)
            case 1: parts.append(digit + "[0-9]")
            default: parts.append(digit + "[0-9]{\(lowRest.count)}")
            }
        }
        if !isToNine { parts += between(zeros, highRest).map { "\(last)\($0)" } }
        return parts
    }
}
