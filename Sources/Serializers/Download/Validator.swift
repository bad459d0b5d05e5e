import Foundation
import TurnpikeCore

extension ResponseHead {
    /// What identifies this content byte for byte, as `If-Range` has it; nil where nothing does, or
    /// where the server gives no ranges.
    func strongValidator(now: Date) -> String? {
        if headers[.acceptRanges]?.lowercased() == "none" { return nil }
        if let coding = headers[.contentEncoding], coding.lowercased() != "identity" { return nil }
        if let tag = headers[.eTag] {
            // A weak tag keeps the date from being used too (RFC 9110 §13.1.5).
            // Bytes, for a quote and a mark behind it are one character.
            let quote = UInt8(ascii: "\"")
            let isStrong = tag.utf8.count >= 2 && tag.utf8.first == quote && tag.utf8.last == quote
            return isStrong ? tag : nil
        }
        guard let modified = headers[.lastModified], let text = headers[.date],
            let date = HTTPDate.parse(text, now: now),
            let changed = HTTPDate.parse(modified, now: now)
        else { return nil }
        // Strong only if it could not have changed within the same second (RFC 9110 §8.8.2.2).
        return date.timeIntervalSince(changed) >= 1 ? modified : nil
    }
}
