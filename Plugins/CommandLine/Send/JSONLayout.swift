// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeSupport

/// Formats JSON text for a person: indented, and with colors.
///
/// Numbers, escapes and members with the same name stay as they are. Control characters become JSON
/// escapes, because a terminal would execute control characters.
struct JSONLayout {
    /// The maximum number of bytes that are formatted.
    static let maxBytes = 1 << 20
    // Deeper levels get no more indentation, because one megabyte could become hundreds.
    private static let deepestIndent = 20

    private let source: [UInt8]
    private let hasColor: Bool
    private var position = 0
    private var depth = 0
    private var result: [UInt8] = []

    /// Returns formatted text with a line end, or nil for invalid text and text above ``maxBytes``.
    static func text(_ data: Data, hasColor: Bool) -> Data? {
        guard data.count <= maxBytes, (try? JSONValue(parsing: data)) != nil else { return nil }
        var layout = JSONLayout(data, hasColor: hasColor)
        layout.run()
        return Data(layout.result)
    }

    private init(_ data: Data, hasColor: Bool) {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        source = Array(data.starts(with: mark) ? data.dropFirst(mark.count) : data)
        self.hasColor = hasColor
    }

    // The text is valid JSON; the first byte of a token determines the kind of the token.
    private mutating func run() {
        while let byte = next() {
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["): open(byte)
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                breakLine()
                take()
            case UInt8(ascii: ","):
                take()
                breakLine()
            case UInt8(ascii: ":"):
                take()
                result.append(0x20)
            case UInt8(ascii: "\""):
                let text = string()
                write(text, next() == UInt8(ascii: ":") ? .name : .string)
            default:
                write(word(), byte == UInt8(ascii: "-") || Grammar.isDigit(byte) ? .number : .word)
            }
        }
        result.append(0x0A)
    }

    // Skips blanks, and returns the next byte or nil.
    private mutating func next() -> UInt8? {
        while position < source.count {
            switch source[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            case let byte: return byte
            }
        }
        return nil
    }

    private mutating func take() {
        result.append(source[position])
        position += 1
    }

    private mutating func open(_ byte: UInt8) {
        take()
        // In ASCII, the closing bracket is the opening bracket plus 2.
        if next() == byte + 2 { return take() }
        depth += 1
        breakLine()
    }

    private mutating func breakLine() {
        result.append(0x0A)
        result.append(
            contentsOf: repeatElement(0x20, count: min(depth, Self.deepestIndent) * 2))
    }

    // MARK: Tokens

    private enum Kind: String {
        case name = "34;1"
        case string = "32"
        case number = "36"
        case word = "33"
    }

    private mutating func string() -> ArraySlice<UInt8> {
        let start = position
        position += 1
        while source[position] != UInt8(ascii: "\"") {
            position += source[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        position += 1
        return source[start..<position]
    }

    private mutating func word() -> ArraySlice<UInt8> {
        let start = position
        while position < source.count, !" \t\n\r,]}".utf8.contains(source[position]) {
            position += 1
        }
        return source[start..<position]
    }

    private mutating func write(_ token: ArraySlice<UInt8>, _ kind: Kind) {
        if hasColor { result += "\u{1B}[\(kind.rawValue)m".utf8 }
        writeSafely(token)
        if hasColor { result += "\u{1B}[0m".utf8 }
    }

    // JSON allows DEL, C1 controls and direction marks in a string.
    private mutating func writeSafely(_ token: ArraySlice<UInt8>) {
        guard token.contains(where: { $0 >= 0x7F }) else { return result += token }
        for scalar in String(decoding: token, as: UTF8.self).unicodeScalars {
            let text = String(scalar)
            if scalar.value < 0x7F || Grammar.areSame(Grammar.escaped(text), text) {
                result += text.utf8
            } else {
                let digits = String(scalar.value, radix: 16)
                result += ("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).utf8
            }
        }
    }
}
