// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeSupport

/// Makes text that a peer has sent safe for a terminal, as it arrives.
///
/// A terminal obeys control characters: they move the cursor, rename the window, or answer as if
/// typed. All but line ends and tabs are shown as `\u{1b}`. Text is read as UTF-8, and what is not
/// UTF-8 is shown as the replacement character.
struct TerminalText {
    /// Whether nothing was shown yet, or a line end came last.
    private(set) var endsLine = true
    // The beginning of a character that is not complete.
    private var rest = Data()
    // A carriage return is shown only if no line feed follows.
    private var hasReturn = false

    /// Returns more text in printable form, or nil if it is not text: if it has a zero byte.
    mutating func show(_ chunk: Data) -> Data? {
        if chunk.contains(0) { return nil }
        let bytes = rest + chunk
        rest = Data(bytes.suffix(Self.incompleteTail(of: bytes)))
        return shown(bytes.dropLast(rest.count))
    }

    /// Returns what is left at the end of the text.
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

    // The number of bytes at the end that begin a character and do not complete it.
    private static func incompleteTail(of bytes: Data) -> Int {
        for (index, byte) in bytes.suffix(3).reversed().enumerated() where byte & 0xC0 != 0x80 {
            let width = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1
            return width > index + 1 ? index + 1 : 0
        }
        return 0
    }
}
