// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeSerializers
import TurnpikeSupport

/// The characters of a document as valid UTF-8, with each line ending replaced by LF (XML 1.0 §2.2,
/// §2.11).
enum XMLText {
    /// Decodes content.
    ///
    /// The encoding is that of the byte order mark, the `charset` of the `Content-Type`, the XML
    /// declaration, or UTF-8, in this order (RFC 7303 §3).
    static func bytes(of content: Data, charset label: String?) throws -> [UInt8] {
        if content.isEmpty { throw XMLFault.error("is empty") }
        let (charset, start) = try encoding(of: content, label)
        guard let text = charset.decode(content.dropFirst(start)) else {
            throw XMLFault.error("has bytes that are not valid in its encoding")
        }
        var bytes = Array(text.utf8)
        try checkCharacters(of: bytes)
        if bytes.contains(0x0D) { bytes = normalizingLineEnds(of: bytes) }
        return bytes
    }

    private static func encoding(
        of content: Data, _ label: String?
    ) throws -> (charset: Charset, start: Int) {
        if let (charset, length) = Charset.byteOrderMark(of: content) { return (charset, length) }
        guard let label = try label ?? declaredEncoding(of: content) else {
            return (.foundation(.utf8), 0)
        }
        guard let charset = Charset(label: label) else {
            throw XMLFault.error(
                "is in the encoding \(Grammar.escaped(label, upTo: 40)), which is not supported")
        }
        return (charset, 0)
    }

    // Returns the encoding in the XML declaration, which must end within the first bytes, because
    // everything allowed in it is short.
    private static func declaredEncoding(of content: Data) throws -> String? {
        let start = content.prefix(200)
        // The name of another instruction may begin with `xml`.
        guard start.starts(with: "<?xml".utf8), let blank = start.dropFirst(5).first, blank <= 0x20
        else { return nil }
        guard let end = start.firstRange(of: Data("?>".utf8)) else {
            throw XMLFault.error(
                "has a declaration that does not end within 200 bytes", at: 0, of: [])
        }
        let text = String(decoding: start[..<end.lowerBound], as: UTF8.self)
        guard let match = text.firstMatch(of: /\sencoding\s*=\s*["']([^"']*)["']/) else {
            return nil
        }
        return String(match.1)
    }

    private static func checkCharacters(of bytes: [UInt8]) throws {
        var position = 0
        while position < bytes.count {
            let byte = bytes[position]
            // U+FFFE and U+FFFF are the only other characters of UTF-8 that XML does not allow.
            let isNone =
                byte < 0x20 && byte != 0x0A && byte != 0x09 && byte != 0x0D
                || byte == 0xEF && bytes[position + 1] == 0xBF && bytes[position + 2] >= 0xBE
            if isNone {
                throw XMLFault.error(
                    "has a character that XML does not allow", at: position, of: bytes)
            }
            position += 1
        }
    }

    private static func normalizingLineEnds(of bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var isBehindReturn = false
        for byte in bytes {
            if byte == 0x0D {
                result.append(0x0A)
            } else if byte != 0x0A || !isBehindReturn {
                result.append(byte)
            }
            isBehindReturn = byte == 0x0D
        }
        return result
    }
}

/// Errors for rejected documents.
enum XMLFault {
    static func error(_ reason: String) -> ClientError {
        ClientError(.serialization, "the XML document \(reason)")
    }

    /// Returns an error with a position.
    static func error(_ reason: String, at position: Int, of bytes: [UInt8]) -> ClientError {
        let before = bytes[..<position]
        let line = before.reduce(1) { $1 == 0x0A ? $0 + 1 : $0 }
        let start = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        return error("\(reason): line \(line), column \(position - start + 1)")
    }
}
