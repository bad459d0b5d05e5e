// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// Checks that text is UTF-8, in pieces that may end within a character (RFC 3629 §4).
struct UTF8Check {
    // The number of missing bytes of the current character, and the allowed values of the next
    // byte.
    private var needed = 0
    private var allowed: ClosedRange<UInt8> = 0x80...0xBF

    var isComplete: Bool { needed == 0 }

    /// Adds bytes, and returns false if the text is not UTF-8.
    mutating func add(_ bytes: Data) -> Bool {
        unsafe bytes.withUnsafeBytes { bytes in
            var index = 0
            while index < bytes.count {
                // The loop handles eight characters of ASCII at a time.
                if needed == 0, index + 8 <= bytes.count,
                    unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                        & 0x8080_8080_8080_8080 == 0
                {
                    index += 8
                    continue
                }
                guard unsafe add(bytes[index]) else { return false }
                index += 1
            }
            return true
        }
    }

    private mutating func add(_ byte: UInt8) -> Bool {
        if needed > 0 {
            guard allowed.contains(byte) else { return false }
            needed -= 1
            allowed = 0x80...0xBF
            return true
        }
        switch byte {
        case ..<0x80: return true
        case 0xC2...0xDF: needed = 1
        case 0xE0: (needed, allowed) = (2, 0xA0...0xBF)
        // Surrogates are not characters.
        case 0xED: (needed, allowed) = (2, 0x80...0x9F)
        case 0xE1...0xEF: needed = 2
        case 0xF0: (needed, allowed) = (3, 0x90...0xBF)
        case 0xF1...0xF3: needed = 3
        case 0xF4: (needed, allowed) = (3, 0x80...0x8F)
        default: return false
        }
        return true
    }
}
