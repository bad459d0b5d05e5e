// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// A `Content-Range` field in bytes (RFC 9110 §14.4).
struct ContentRange: Equatable {
    /// The range of the content, or nil if the server could not satisfy the requested range.
    let range: ClosedRange<Int64>?
    /// The complete length, or nil if it is unknown.
    let total: Int64?

    init?(parsing text: String) {
        let parts = text.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
        let halves = parts[1].split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        if halves[1] == "*" {
            total = nil
        } else {
            guard let value = Self.number(halves[1]) else { return nil }
            total = value
        }
        if halves[0] == "*" {
            range = nil
            return
        }
        let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]),
            first <= last, last < total ?? .max
        else { return nil }
        range = first...last
    }

    private static func number(_ text: Substring) -> Int64? {
        text.utf8.allSatisfy { $0 &- UInt8(ascii: "0") < 10 } ? Int64(text) : nil
    }
}
