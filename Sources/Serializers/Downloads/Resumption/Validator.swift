// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeSupport

extension ResponseHead {
    /// The strong validator of this content for `If-Range`, or nil if there is none or the server
    /// does not support ranges.
    func strongValidator(now: Date) -> String? {
        if headers[.acceptRanges]?.lowercased() == "none" { return nil }
        if let coding = headers[.contentEncoding], coding.lowercased() != "identity" { return nil }
        if let tag = headers[.eTag] {
            // A weak tag also rules out the date (RFC 9110 §13.1.5). Bytes are compared, because a
            // quote and a combining mark after it form one character.
            let quote = UInt8(ascii: "\"")
            let isStrong = tag.utf8.count >= 2 && tag.utf8.first == quote && tag.utf8.last == quote
            return isStrong ? tag : nil
        }
        guard let modified = headers[.lastModified],
            let changed = HTTPDate.parse(modified, now: now)
        else { return nil }
        guard let text = headers[.date] else {
            // A response without a date was sent about now (RFC 9110 §6.6.1), by a clock that may
            // differ.
            return now.timeIntervalSince(changed) >= 60 ? modified : nil
        }
        // A date is strong only if the content cannot have changed within the same second (RFC 9110
        // §8.8.2.2).
        let date = HTTPDate.parse(text, now: now)
        return date.map { $0.timeIntervalSince(changed) >= 1 } == true ? modified : nil
    }
}
