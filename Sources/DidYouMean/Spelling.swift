// "Did you mean …?" for whatever people type: configuration keys, addresses, commands, functions.

/// Finds the known word a misspelt one was meant to be.
package enum Spelling {
    /// The nearest of `known`, or `nil` when none is near enough to be worth saying: one slip
    /// in three letters, and at least one.
    package static func nearest(_ word: String, in known: [String]) -> String? {
        let limit = max(1, word.count / 3)
        return
            known
            .map { (word: $0, distance: distance(word.lowercased(), $0.lowercased())) }
            .filter { $0.distance <= limit }
            .min { $0.distance < $1.distance }?
            .word
    }

    /// How many letters have to be added, removed, replaced, or swapped with their neighbour.
    package static func distance(_ first: String, _ second: String) -> Int {
        let a = Array(first)
        let b = Array(second)
        // A word this long is no misspelt key; the table below grows with the product.
        guard a.count <= 64, b.count <= 64 else { return max(a.count, b.count) }
        var beforeLast: [Int] = []
        var last = Array(0...b.count)
        for i in 0..<a.count {
            var row = [i + 1]
            for j in 0..<b.count {
                var cost = min(row[j] + 1, last[j + 1] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
                    cost = min(cost, beforeLast[j - 1] + 1)
                }
                row.append(cost)
            }
            beforeLast = last
            last = row
        }
        return last[b.count]
    }
}
