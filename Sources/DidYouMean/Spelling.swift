/// Finds the known word a misspelt one was meant to be: configuration keys, addresses, commands,
/// functions, parameters of RPCs.
package enum Spelling {
    /// The longest word, in bytes, that is worth comparing: the longest RPC name has 41.
    private static let maximumLength = 64

    /// The nearest of `known`, or `nil` when none is near enough to be worth suggesting: one slip per three
    /// letters, and at least one. Case does not count.
    package static func nearest(_ word: String, in known: some Sequence<String>) -> String? {
        let wanted = lowercased(word)
        guard (1...maximumLength).contains(wanted.count) else { return nil }
        var best: String?
        var bestDistance = max(1, wanted.count / 3) + 1
        var rows = Rows()
        for candidate in known {
            let letters = lowercased(candidate)
            guard abs(letters.count - wanted.count) < bestDistance else { continue }
            let distance = distance(wanted, letters, &rows)
            // A word with no letter in common is not a typo.
            guard distance < min(bestDistance, max(letters.count, wanted.count)) else { continue }
            (best, bestDistance) = (candidate, distance)
        }
        return best
    }

    /// How many letters have to be added, removed, replaced, or swapped with their neighbour.
    package static func distance(_ first: String, _ second: String) -> Int {
        var rows = Rows()
        return distance(Array(first.utf8), Array(second.utf8), &rows)
    }

    /// Three rows of the table of distances, kept between words.
    private struct Rows {
        var beforeLast: [Int] = []
        var last: [Int] = []
        var current: [Int] = []
    }

    /// Optimal string alignment.
    private static func distance(_ a: [UInt8], _ b: [UInt8], _ rows: inout Rows) -> Int {
        rows.last.removeAll(keepingCapacity: true)
        rows.last.append(contentsOf: 0...b.count)
        for i in a.indices {
            rows.current.removeAll(keepingCapacity: true)
            rows.current.append(i + 1)
            for j in b.indices {
                let replaced = rows.last[j] + (a[i] == b[j] ? 0 : 1)
                var cost = min(rows.current[j] + 1, rows.last[j + 1] + 1, replaced)
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
                    cost = min(cost, rows.beforeLast[j - 1] + 1)
                }
                rows.current.append(cost)
            }
            // The oldest row becomes the next one to be filled.
            swap(&rows.beforeLast, &rows.last)
            swap(&rows.last, &rows.current)
        }
        return rows.last[b.count]
    }

    private static func lowercased(_ word: String) -> [UInt8] {
        word.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }
}
