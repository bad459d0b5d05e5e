// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// A set of words for lookups that ignore case and mostly fail.
struct WordSet: Sendable {
    private let words: Set<[UInt8]>
    // For each first byte of a word in lower case, the lengths of such words as a bit mask.
    private let lengths: [UInt64]

    /// - Parameter text: The words in lower case, separated by spaces; at most 63 bytes each.
    init(_ text: String) {
        words = Set(text.split(separator: " ").map { Array($0.utf8) })
        var lengths = [UInt64](repeating: 0, count: 256)
        for word in words { lengths[Int(word[0])] |= 1 << UInt64(word.count) }
        self.lengths = lengths
    }

    /// Whether a word is in the set.
    /// - Parameters:
    ///   - word: The word, in any case.
    ///   - counts: Whether a byte belongs to the word. Other bytes are ignored.
    /// - Returns: Whether the set contains the word.
    func contains(
        _ word: some Sequence<UInt8>, where counts: (UInt8) -> Bool = { _ in true }
    ) -> Bool {
        var first: UInt8?
        var count: UInt64 = 0
        for byte in word where counts(byte) {
            first = first ?? Grammar.lowercased(byte)
            count += 1
            if count > 63 { return false }
        }
        guard let first, lengths[Int(first)] >> count & 1 == 1 else { return false }
        return words.contains(word.filter(counts).map(Grammar.lowercased))
    }
}
