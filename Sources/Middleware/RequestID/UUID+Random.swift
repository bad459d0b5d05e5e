// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

extension CallRandom {
    /// Returns a version 4 UUID (RFC 9562 §5.4) in lower case, from the call's reproducible random
    /// source.
    func uuid() -> String {
        let high = next() & ~0xF000 | 0x4000
        let low = next() & ~(0b11 << 62) | (0b10 << 62)
        var digits = Array((high.hexadecimal + low.hexadecimal).utf8)
        for position in [20, 16, 12, 8] { digits.insert(UInt8(ascii: "-"), at: position) }
        return String(decoding: digits, as: UTF8.self)
    }
}
