// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeSupport

/// Makes text from a peer safe for a terminal as it arrives.
///
/// A terminal executes control characters, which move the cursor, rename the window, or insert
/// input. All control characters except line ends and tabs are shown in the form `\u{1b}`. The text
/// is read as UTF-8, and invalid bytes are shown as the replacement character.
struct TerminalText {
    /// Whether the text shown so far is empty or ends with a line end.
    private(set) var endsLine = true
    // The first bytes of a character that is not complete.
    private var rest = Data()
    // Whether the last character is a carriage return, which is not shown before a line feed.
    private var hasReturn = false

    /// Returns more text in printable form, or nil for bytes with a zero byte, which are no text.
    mutating func show(_ chunk: Data) -> Data? {
        if chunk.contains(0) { return nil }
        let bytes = rest + chunk
        rest = Data(bytes.suffix(Self.incompleteTail(of: bytes)))
        return shown(bytes.dropLast(rest.count))
    }

    mutating func end() -> Data {
        defer { rest = Data() }
        var text = shown(rest)
        if hasReturn { text += Data(Grammar.escaped("\r").utf8) }
        hasReturn = false
        if !text.isEmpty { endsLine = text.last == UInt8(ascii: "\n") }
        return text
    }

    private mutating func shown(_ bytes: Data) -> Data {
        var text = String.UnicodeScalarView()
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            if hasReturn, scalar != "\n" { text += Grammar.escaped("\r").unicodeScalars }
            hasReturn = scalar == "\r"
            switch scalar {
            case "\r": break
            case " "..."~", "\n", "\t": text.append(scalar)
            default: text += Grammar.escaped(String(scalar)).unicodeScalars
            }
        }
        if let last = text.last { endsLine = last == "\n" }
        return Data(String(text).utf8)
    }

    // The number of bytes at the end that begin a character without completing it.
    private static func incompleteTail(of bytes: Data) -> Int {
        for (index, byte) in bytes.suffix(3).reversed().enumerated() where byte & 0xC0 != 0x80 {
            let width = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1
            return width > index + 1 ? index + 1 : 0
        }
        return 0
    }
}
