/// Finds the name that someone meant.
package enum NearMiss {
    /// `; did you mean "x"?`, or nothing where no candidate is near, and what is allowed.
    package static func hint(for name: String, among candidates: some Sequence<String>) -> String {
        let sorted = candidates.sorted()
        let near = sorted.map { ($0, distance(name.lowercased(), $0.lowercased())) }.min {
            $0.1 < $1.1
        }
        if let near, near.1 <= max(1, name.count / 3) { return "; did you mean \"\(near.0)\"?" }
        return sorted.isEmpty ? "" : "; allowed: " + sorted.joined(separator: ", ")
    }

    /// The number of edits between two texts, a swap of neighbours being one (optimal string
    /// alignment).
    static func distance(_ left: String, _ right: String) -> Int {
        let left = Array(left.prefix(64))
        let right = Array(right.prefix(64))
        var rows = [Array(0...right.count)]
        for (i, a) in left.enumerated() {
            var row = [i + 1]
            for (j, b) in right.enumerated() {
                var best = min(row[j] + 1, rows[i][j + 1] + 1, rows[i][j] + (a == b ? 0 : 1))
                if i > 0, j > 0, a == right[j - 1], left[i - 1] == b {
                    best = min(best, rows[i - 1][j - 1] + 1)
                }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }
}
