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

    /// All pieces of a line, empty ones too; in a `Set-Cookie` line the attributes come behind the
    /// first one.
    /// - Parameters:
    ///   - line: The line.
    ///   - limit: How many semicolons are looked for.
    /// - Returns: At least one piece.
    public static func pieces(_ line: String, limit: Int = .max) -> [CookieItem] {
        line.utf8.split(
            separator: UInt8(ascii: ";"), maxSplits: limit, omittingEmptySubsequences: false
        ).map(CookieItem.init)
    }

    /// The pieces of a line that are not empty.
    public static func list(_ line: String) -> [CookieItem] {
        line.utf8.split(separator: UInt8(ascii: ";")).map(CookieItem.init)
    }
}
