extension Redaction {
    /// Text with its secrets hidden, and nothing escaped: in URLs, behind the name of a scheme of
    /// authentication, and in assignments like `password=…`.
    func unescapedText(_ text: String, depth: Int = 0) -> String {
        var result = ""
        var rest = text[...]
        var isCredential = false
        while !rest.isEmpty {
            let piece = rest.prefix { !$0.isWhitespace }
            result += word(piece, isCredential: isCredential, depth: depth)
            isCredential = Self.endsWithScheme(piece)
            rest = rest[piece.endIndex...]
            let blanks = rest.prefix { $0.isWhitespace }
            result += blanks
            rest = rest[blanks.endIndex...]
        }
        return result
    }

    private func word(_ piece: Substring, isCredential: Bool, depth: Int) -> String {
        if isCredential, Self.looksMade(piece) { return Self.marked(piece) }
        if Self.looksLikeSecret(piece.drop { "\"'(<".contains($0) }) { return Self.marked(piece) }
        let isURL = piece.contains("://") || piece.contains("?")
        let shown = isURL ? urlText(String(piece), depth: depth)[...] : piece
        return shown.contains("=") ? assignments(shown) : String(shown)
    }

    // The mark, with the quotes and brackets around what it stands for.
    private static func marked(_ piece: Substring) -> String {
        let opening = piece.prefix { "\"'(<".contains($0) }
        var closing = ""
        for character in piece.reversed() {
            guard "\"'()<>,;]}".contains(character) else { break }
            closing = String(character) + closing
        }
        return opening + mark + closing
    }

    private func assignments(_ piece: Substring) -> String {
        var result = ""
        var rest = piece
        while let equals = rest.firstIndex(of: "=") {
            let name = String(rest[..<equals].reversed().prefix(while: Self.isOfName).reversed())
            let value = rest[rest.index(after: equals)...].drop { "\"'".contains($0) }
            result += rest[..<value.startIndex]
            let end = value.firstIndex { "&;,)<>\"'".contains($0) } ?? value.endIndex
            guard Self.isKeyLike(name.lowercased()), end > value.startIndex else {
                rest = value
                continue
            }
            result += Self.mark
            rest = value[end...]
        }
        return result + rest
    }

    private static func isOfName(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || "-_.%[]".contains(character)
    }

    private static func endsWithScheme(_ piece: Substring) -> Bool {
        ["bearer", "basic"].contains { piece.lowercased().hasSuffix($0) }
    }
}
