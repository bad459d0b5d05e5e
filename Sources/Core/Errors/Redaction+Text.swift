extension Redaction {
    /// Text with its secrets hidden, and nothing escaped: in URLs, behind the name of a scheme of
    /// authentication, and in assignments like `password=…`.
    ///
    /// Scalars are looked at, here and in all of this type, never characters: a mark or a joiner
    /// behind a delimiter makes one character with it that is no delimiter, and a reader of the text
    /// takes it for one.
    func unescapedText(_ text: String, depth: Int = 0) -> String {
        var result = ""
        var rest = text.unicodeScalars[...]
        var isCredential = false
        while !rest.isEmpty {
            let piece = Substring(rest.prefix { !$0.properties.isWhitespace })
            result += word(piece, isCredential: isCredential, depth: depth)
            isCredential = Self.endsWithScheme(piece)
            rest = rest[piece.endIndex...]
            let blanks = rest.prefix { $0.properties.isWhitespace }
            result += Substring(blanks)
            rest = rest[blanks.endIndex...]
        }
        return result
    }

    private func word(_ piece: Substring, isCredential: Bool, depth: Int) -> String {
        if isCredential, Self.looksMade(piece) { return Self.marked(piece) }
        let inner = piece.unicodeScalars.drop { Self.opening.contains($0) }
        if Self.looksLikeSecret(Substring(inner)) { return Self.marked(piece) }
        let isURL =
            piece.utf8.contains(UInt8(ascii: "?"))
            || piece.utf8.firstRange(of: "://".utf8) != nil
        let shown = isURL ? urlText(String(piece), depth: depth)[...] : piece
        return shown.utf8.contains(UInt8(ascii: "=")) ? assignments(shown) : String(shown)
    }

    // The mark, with the quotes and brackets around what it stands for.
    private static func marked(_ piece: Substring) -> String {
        let scalars = piece.unicodeScalars
        let opening = scalars.prefix { Self.opening.contains($0) }
        let inner = scalars[opening.endIndex...]
        let end = inner.lastIndex { !closing.contains($0) }
        let rest = end.map { inner[inner.index(after: $0)...] } ?? inner
        return Substring(opening) + mark + Substring(rest)
    }

    private static let opening = "\"'(<".unicodeScalars
    private static let closing = "\"'()<>,;]}".unicodeScalars

    private func assignments(_ piece: Substring) -> String {
        var result = ""
        var rest = piece.unicodeScalars
        while let equals = rest.firstIndex(of: "=") {
            let before = rest[..<equals]
            let start = before.lastIndex { !Self.isOfName($0) }
            let name = start.map { before[before.index(after: $0)...] } ?? before
            let value = rest[rest.index(after: equals)...].drop { $0 == "\"" || $0 == "'" }
            result += Substring(rest[..<value.startIndex])
            let end = value.firstIndex { Self.endsOfValue.contains($0) } ?? value.endIndex
            guard Self.isKeyLike(Substring(name).lowercased()), end > value.startIndex else {
                rest = value
                continue
            }
            result += Self.mark
            rest = value[end...]
        }
        return result + Substring(rest)
    }

    private static let endsOfValue = "&;,)<>\"'".unicodeScalars

    // Marks and joiners too: a name with one is still the name that it looks like.
    private static func isOfName(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "-", "_", ".", "%", "[", "]": return true
        default: break
        }
        switch scalar.properties.generalCategory {
        case .format, .nonspacingMark, .spacingMark, .enclosingMark: return true
        default: return scalar.properties.isAlphabetic || scalar.properties.numericType != nil
        }
    }

    private static func endsWithScheme(_ piece: Substring) -> Bool {
        ["bearer", "basic"].contains { piece.lowercased().hasSuffix($0) }
    }
}
