// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TurnpikeDownloads

@Suite("ContentRange")
struct ContentRangeTests {
    @Test(
        "A range lies within the complete length, which may be unknown",
        arguments: [
            ("bytes 0-9/10", 0...9, 10), ("BYTES 9-9/10", 9...9, 10), ("bytes 3-4/*", 3...4, nil),
            ("bytes */10", nil, 10),
        ] as [(String, ClosedRange<Int64>?, Int64?)])
    func valid(text: String, range: ClosedRange<Int64>?, total: Int64?) throws {
        let parsed = try #require(ContentRange(parsing: text))
        #expect(parsed.range == range && parsed.total == total)
    }

    @Test(
        "Other fields are none",
        arguments: [
            "bytes 0-10/10", "bytes 5-4/10", "bytes 0-9", "bytes -9/10", "bytes 0-/10",
            "bytes 0-9-9/10", "bytes 0-9/x", "bytes +0-9/10", "items 0-9/10", "bytes", "",
        ])
    func invalid(text: String) {
        #expect(ContentRange(parsing: text) == nil)
    }
}
