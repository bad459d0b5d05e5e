// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TurnpikeCommandLine

@Suite("Text of a peer on a terminal")
struct TerminalTextTests {
    /// Shows text that comes in portions of a size.
    private func shown(_ text: Data, portion: Int) -> String? {
        var display = TerminalText()
        var result = Data()
        var rest = text
        while !rest.isEmpty {
            guard let part = display.show(rest.prefix(portion)) else { return nil }
            result += part
            rest = Data(rest.dropFirst(portion))
        }
        return String(decoding: result + display.end(), as: UTF8.self)
    }

    @Test(
        "Control characters are shown, and not obeyed; line ends and tabs are kept",
        arguments: [
            ("plain\ttext\n", "plain\ttext\n"), ("a\r\nb\r\n", "a\nb\n"),
            ("over\rwritten", "over\\u{d}written"), ("end\r", "end\\u{d}"),
            ("\r\r\n", "\\u{d}\n"), ("\u{1B}]0;name\u{7}", "\\u{1b}]0;name\\u{7}"),
            ("\u{9B}31m", "\\u{9b}31m"), ("\u{7F}\u{8}", "\\u{7f}\\u{8}"),
            ("\u{202E}txt.exe", "\\u{202e}txt.exe"), ("grüße 語 👩‍👩‍👧", "grüße 語 👩‍👩‍👧"),
            ("", ""),
        ], [1, 2, 3, 100])
    func control(example: (text: String, shown: String), portion: Int) {
        #expect(shown(Data(example.text.utf8), portion: portion) == example.shown)
    }

    @Test(
        "Bytes that are not UTF-8 are shown as the replacement character, however they are cut",
        arguments: [
            ([0x61, 0x9B, 0x33], "a\u{FFFD}3"), ([0xE8, 0xAA], "\u{FFFD}"),
            ([0x61, 0xF0], "a\u{FFFD}"),
            ([0xFF, 0x62], "\u{FFFD}b"),
        ] as [([UInt8], String)], [1, 2, 100])
    func malformed(example: (bytes: [UInt8], shown: String), portion: Int) {
        #expect(shown(Data(example.bytes), portion: portion) == example.shown)
    }

    @Test("Content with a zero byte is no text")
    func binary() {
        #expect(shown(Data([0x61, 0x00]), portion: 1) == nil)
    }

    @Test("It is known whether the last line has ended")
    func lineEnds() {
        var text = TerminalText()
        #expect(text.endsLine)
        for (part, ends) in [("a", false), ("b\n", true), ("c\r", false), ("\n", true)] {
            _ = text.show(Data(part.utf8))
            #expect(text.endsLine == ends)
        }
        _ = text.show(Data([0xC3]))
        #expect(text.end() == Data("\u{FFFD}".utf8))
        #expect(!text.endsLine)
    }
}
