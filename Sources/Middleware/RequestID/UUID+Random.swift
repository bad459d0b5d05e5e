import Foundation
import TurnpikeCore

extension CallRandom {
    /// A version 4 UUID (RFC 9562 §5.4) in lower case, as reproducible as the call's other choices.
    func uuid() -> String {
        let high = next() & ~0xF000 | 0x4000
        let low = next() & ~(0b11 << 62) | (0b10 << 62)
        let digits = Array(high.hexDigits + low.hexDigits)
        let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32]
        return groups.map { String(digits[$0]) }.joined(separator: "-")
    }
}

extension UInt64 {
    /// Sixteen digits in lower case.
    var hexDigits: String {
        let digits = String(self, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
