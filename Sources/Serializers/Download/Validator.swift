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
        guard let modified = headers[.lastModified],
            let changed = HTTPDate.parse(modified, now: now)
        else { return nil }
        guard let text = headers[.date] else {
            // What has no date was sent about now (RFC 9110 §6.6.1), by a clock of its own.
            return now.timeIntervalSince(changed) >= 60 ? modified : nil
        }
        // Strong only if it could not have changed within the same second (RFC 9110 §8.8.2.2).
        let date = HTTPDate.parse(text, now: now)
        return date.map { $0.timeIntervalSince(changed) >= 1 } == true ? modified : nil
    }
}
