/// Why an accessory address was refused; the message says what was found, what was expected and
/// what to type. Thrown while an address is read, never while a device is opened.
package struct AddressError: Error, Hashable, Sendable, CustomStringConvertible {
    package let message: String

    @inline(never)
    package init(_ message: String) {
        self.message = message
    }

    package var description: String { message }
}

/// The word of a list that somebody probably meant when they typed another one.
enum Suggestion {
    /// A word of three letters may be off by one, longer ones by two.
    static func closest(to typed: String, among known: [String]) -> String? {
        let typed = typed.lowercased()
        let limit = typed.count <= 3 ? 1 : 2
        return
            known
            .map { (word: $0, distance: distance(typed, $0.lowercased())) }
            .filter { $0.distance <= limit }
            .min { $0.distance < $1.distance }?
            .word
    }

    /// Insertions, deletions, replacements and swaps of neighbours that turn one word into another
    /// (optimal string alignment).
    static func distance(_ first: String, _ second: String) -> Int {
        let first = Array(first)
        let second = Array(second)
        var beforePrevious: [Int] = []
        var previous = Array(0...second.count)
        for i in first.indices {
            var row = [i + 1]
            for j in second.indices {
                let replaced = previous[j] + (first[i] == second[j] ? 0 : 1)
                var best = min(previous[j + 1] + 1, row[j] + 1, replaced)
                if i > 0, j > 0, first[i] == second[j - 1], first[i - 1] == second[j] {
                    best = min(best, beforePrevious[j - 1] + 1)
                }
                row.append(best)
            }
            beforePrevious = previous
            previous = row
        }
        return previous[second.count]
    }
}
