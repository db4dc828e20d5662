// Finds what somebody may have meant by a misspelt name; used for "did you mean".

enum NearestName {
    /// Bytes of a name beyond which comparing is no use: the longest of RPC specification 8.0.0
    /// has 41.
    static let maximumLength = 64

    /// The candidate closest to `name`, if one is close: a third of its letters may differ. Case
    /// does not count. Names of one or two letters are close to nothing.
    static func find(_ name: String, in candidates: some Sequence<String>) -> String? {
        let wanted = lowercased(name)
        guard (3...maximumLength).contains(wanted.count) else { return nil }
        var best: String?
        var bestDistance = wanted.count / 3 + 1
        var row: [Int] = []
        for candidate in candidates {
            let letters = lowercased(candidate)
            guard abs(letters.count - wanted.count) < bestDistance else { continue }
            let distance = distance(wanted, letters, &row)
            guard distance < bestDistance else { continue }
            (best, bestDistance) = (candidate, distance)
        }
        return best
    }

    private static func lowercased(_ name: String) -> [UInt8] {
        name.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }

    /// Levenshtein distance.
    private static func distance(_ left: [UInt8], _ right: [UInt8], _ row: inout [Int]) -> Int {
        row.removeAll(keepingCapacity: true)
        row.append(contentsOf: 0...right.count)
        for (i, a) in left.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, b) in right.enumerated() {
                let above = row[j + 1]
                row[j + 1] = min(above + 1, row[j] + 1, diagonal + (a == b ? 0 : 1))
                diagonal = above
            }
        }
        return row[right.count]
    }
}
