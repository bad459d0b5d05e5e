// SPDX-License-Identifier: Apache-2.0

extension String {
    /// The text in NFC, which credentials require (RFC 8265 §4.2); in NFC, a letter with combining
    /// marks becomes one character if Unicode has that character.
    ///
    /// The property composes Latin, Greek, Cyrillic, Arabic, kana and Hangul. Other text must
    /// already be in NFC.
    public var composed: String {
        if unicodeScalars.allSatisfy({ $0.value < 0x300 }) { return self }
        return String(map { Self.isComposable($0) ? Self.composed($0) : $0 })
    }

    private static func isComposable(_ character: Character) -> Bool {
        character.unicodeScalars.contains {
            $0.properties.canonicalCombiningClass != .notReordered
                || (0x1100...0x11FF).contains($0.value) || (0x1F71...0x1FFD).contains($0.value)
                || (0x2126...0x212B).contains($0.value)
        }
    }

    // In Swift, canonically equivalent characters are equal. The first equal character is the
    // character of NFC, because the ranges have no character that NFC excludes.
    private static func composed(_ character: Character) -> Character {
        let ranges: [ClosedRange<UInt32>] = [
            0xC0...0x24F, 0x385...0x6D3, 0x1E00...0x1FFF, 0x3040...0x30FF, 0xAC00...0xD7A3,
        ]
        for range in ranges {
            for value in range {
                if let scalar = Unicode.Scalar(value), Character(scalar) == character {
                    return Character(scalar)
                }
            }
        }
        return character
    }
}
