// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// Base64 of content within text: `?state=eyJ…`.
extension SecretScanner {
    /// Hides base64 of JSON or XML with a secret in it.
    /// - Returns: Whether it was hidden.
    mutating func packedContent() -> Bool {
        // Within content that was packed, only the text as it is: otherwise each level of escapes
        // would multiply the work on what is packed deeper.
        guard position >= withoutPacked, level == 0 || pass.depth <= 2,
            Self.beginningsOfPacked.contains(where: { bytes[position...].starts(with: $0) })
        else { return false }
        let ends = [
            end(position) { Grammar.isAlphanumeric($0) || $0 == 0x2D || $0 == 0x5F },
            end(position) { Grammar.isAlphanumeric($0) || $0 == 0x2B || $0 == 0x2F },
        ]
        withoutPacked = max(ends[0], ends[1])
        pass.work += ends[0] + ends[1] - 2 * position
        for end in Set(ends) where holdsSecret(position..<end) {
            hideNow(position..<end, isNamed: false)
            return true
        }
        return false
    }

    /// Whether the value of a query item is JSON or XML with a secret in it: `?q=%7B%22k…`.
    func isContentWithSecret(_ value: Range<Int>) -> Bool {
        guard let first = bytes[value].first, "{[<%".utf8.contains(first), value.count > 8 else {
            return false
        }
        pass.work += 2 * value.count
        let text = Array(bytes[value])
        let plain = first == UInt8(ascii: "%") ? Spelling.unescaped(text) ?? text : text
        return NestedKind(sniffing: plain).map {
            pass.holdsSecret($0, plain, isCut: isCut && value.upperBound == bytes.count)
        } ?? false
    }

    private func end(_ start: Int, where belongs: (UInt8) -> Bool) -> Int {
        var end = start
        while end < bytes.count, belongs(bytes[end]) { end += 1 }
        return end
    }

    private func holdsSecret(_ packed: Range<Int>) -> Bool {
        guard packed.count >= 16, let plain = Base64.decode(bytes[packed]),
            let kind = NestedKind(sniffing: plain)
        else { return false }
        return pass.holdsSecret(
            kind, plain, isCut: isCut && packed.upperBound == bytes.count)
    }

    /// The first digits of `{"`, `{ "`, `{` and a line end, `["`, `[{`, `[[`, `[` and a blank, and
    /// `<?x`.
    static let beginningsOfPacked = "eyJ eyA ewo ewk ew0 WyJ W3s W1s WyA Wwo Ww0 PD9".split(
        separator: " "
    ).map { Array($0.utf8) }
}
