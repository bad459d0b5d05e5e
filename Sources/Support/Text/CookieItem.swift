// SPDX-License-Identifier: Apache-2.0

/// A piece of a `Cookie` or `Set-Cookie` line, between two semicolons.
public struct CookieItem: Sendable, Hashable {
    /// The name, or the whole text if there is no equals sign.
    public let name: String
    /// The value, or nil if there is no equals sign.
    public let value: String?

    private init(_ piece: Substring.UTF8View) {
        let equals = piece.firstIndex(of: UInt8(ascii: "="))
        name = String(Grammar.trimmed(Substring(piece[..<(equals ?? piece.endIndex)])))
        value = equals.map {
            String(Grammar.trimmed(Substring(piece[piece.index(after: $0)...])))
        }
    }

    /// Returns all pieces of a line, including empty ones.
    ///
    /// In a `Set-Cookie` line the first piece is the cookie and the others are its attributes.
    /// - Parameters:
    ///   - line: The line.
    ///   - limit: The largest number of semicolons at which the line is split.
    /// - Returns: At least one piece.
    public static func pieces(_ line: String, limit: Int = .max) -> [CookieItem] {
        line.utf8.split(
            separator: UInt8(ascii: ";"), maxSplits: limit, omittingEmptySubsequences: false
        ).map(CookieItem.init)
    }

    /// Returns the pieces of a line, without empty ones.
    public static func list(_ line: String) -> [CookieItem] {
        line.utf8.split(separator: UInt8(ascii: ";")).map(CookieItem.init)
    }
}
