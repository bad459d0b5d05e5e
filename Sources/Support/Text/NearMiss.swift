// SPDX-License-Identifier: Apache-2.0

/// Finds the name that a user probably meant.
public enum NearMiss {
    // A longer name is not treated as a typing error.
    private static let maxLength = 64

    /// Returns `; did you mean "x"?` if a candidate is similar, otherwise the allowed names, or an
    /// empty text if there are no names.
    public static func hint(for name: String, among candidates: some Sequence<String>) -> String {
        let sorted = candidates.sorted()
        let meant = folded(name)
        let limit = max(1, meant.count / 3)
        let near = sorted.compactMap { candidate in
            distance(meant, folded(candidate), upTo: limit).map { (candidate, $0) }
        }.min { $0.1 < $1.1 }
        if let near { return "; did you mean \"\(near.0)\"?" }
        return sorted.isEmpty ? "" : "; allowed: " + sorted.joined(separator: ", ")
    }

    // The result has bytes, because one character may have any number of scalars.
    private static func folded(_ name: String) -> [UInt8] {
        name.utf8.prefix(maxLength).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }

    private static func distance(_ left: [UInt8], _ right: [UInt8], upTo limit: Int) -> Int? {
        guard abs(left.count - right.count) <= limit else { return nil }
        var before: [Int] = []
        var last = Array(0...right.count)
        for (i, a) in left.enumerated() {
            var row = [i + 1]
            var least = i + 1
            for (j, b) in right.enumerated() {
                var best = min(row[j] + 1, last[j + 1] + 1, last[j] + (a == b ? 0 : 1))
                if i > 0, j > 0, a == right[j - 1], left[i - 1] == b {
                    best = min(best, before[j - 1] + 1)
                }
                row.append(best)
                least = min(least, best)
            }
            // The minimum of a row is at most one above the previous minimum, and a swap covers two
            // rows and costs one. A later row can therefore not return below the limit.
            if least > limit + 1 { return nil }
            (before, last) = (last, row)
        }
        return last[right.count] <= limit ? last[right.count] : nil
    }
}
