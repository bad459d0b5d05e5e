// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// Splits `Set-Cookie` lines that were joined with commas.
///
/// A comma also occurs in the date of `Expires`, and may occur in a value. The text is therefore
/// split only at a comma and a space before a cookie name and an equals sign. The line before the
/// comma must have attributes. If that line has no attributes, both lines stay joined, because part
/// of a value must never become a cookie.
enum SetCookieLines {
    static func split(_ joined: String) -> [String] {
        guard joined.utf8.contains(UInt8(ascii: ",")) else { return [joined] }
        var lines: [String] = []
        var start = joined.startIndex
        var index = start
        var hasAttributes = false
        let utf8 = joined.utf8
        while let comma = utf8[index...].firstIndex(of: UInt8(ascii: ",")) {
            if utf8[index..<comma].contains(UInt8(ascii: ";")) { hasAttributes = true }
            index = utf8.index(after: comma)
            if hasAttributes, beginsCookie(utf8[index...]) {
                lines.append(String(Grammar.trimmed(joined[start..<comma])))
                start = index
                hasAttributes = false
            }
        }
        lines.append(String(Grammar.trimmed(joined[start...])))
        return lines
    }

    // FoundationNetworking joins lines with a comma and one space. The next cookie starts with a
    // name without spaces and an equals sign. In `Expires=Wed, 21 Oct`, a space follows the day.
    private static func beginsCookie(_ rest: Substring.UTF8View) -> Bool {
        var rest = rest
        guard rest.popFirst() == UInt8(ascii: " ") else { return false }
        var length = 0
        for byte in rest {
            if byte == UInt8(ascii: "=") { return length > 0 }
            guard Grammar.isTokenByte(byte) else { return false }
            length += 1
        }
        return false
    }
}
