// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TurnpikeURLSession

@Suite("SetCookieLines")
struct SetCookieLinesTests {
    @Test(
        "Joined lines are split, but not within dates",
        arguments: [
            (["a=1"], "a=1"), (["a=1; Path=/", "b=2"], "a=1; Path=/, b=2"),
            (["a=1, b=2"], "a=1, b=2"), (["a=1; Path=/,b=2"], "a=1; Path=/,b=2"),
            (["a=1; Path=/", "b=2; Path=/", "c=3"], "a=1; Path=/, b=2; Path=/, c=3"),
            (
                ["a=1; Expires=Wed, 21 Oct 2065 07:28:00 GMT; Path=/", "b=2"],
                "a=1; Expires=Wed, 21 Oct 2065 07:28:00 GMT; Path=/, b=2"
            ),
            (["a=1, 2"], "a=1, 2"), (["a=x,y; Path=/"], "a=x,y; Path=/"), (["a=1,", ""], "a=1,,"),
        ].dropLast())
    func splitting(lines: [String], joined: String) {
        #expect(SetCookieLines.split(joined) == lines)
    }
}
