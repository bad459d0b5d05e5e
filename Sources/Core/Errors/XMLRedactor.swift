import Foundation

/// Copies XML text and leaves out what elements and attributes with secret names hold.
///
/// It needs no valid text, and no whole one.
struct XMLRedactor {
    // Scalars, for a bracket and a mark behind it are one character.
    private var rest: Substring.UnicodeScalarView
    private var output = ""

    init(_ text: String) { rest = text.unicodeScalars[...] }

    consuming func result() -> String {
        while let open = rest.firstIndex(of: "<") {
            output += Substring(rest[..<open])
            rest = rest[open...]
            copyTag()
        }
        return output + Substring(rest)
    }

    private mutating func copyTag() {
        let tag = rest.prefix(through: tagEnd())
        let name = tag.dropFirst().prefix {
            !$0.properties.isWhitespace && $0 != "/" && $0 != ">"
        }
        rest = rest[tag.endIndex...]
        output += attributes(of: tag)
        let isClosed = tag.suffix(2).elementsEqual("/>".unicodeScalars)
        guard !name.isEmpty, !isClosed, Redaction.isKeyLike(Substring(name).lowercased()) else {
            return
        }
        output += Redaction.mark
        let close = Substring(rest).utf8.firstRange(of: ("</" + Substring(name)).utf8)
        rest = close.map { rest[$0.lowerBound...] } ?? "".unicodeScalars[...]
    }

    // The bracket that ends the tag, or the last scalar; brackets in quotes end nothing.
    private func tagEnd() -> String.Index {
        var quote: Unicode.Scalar?
        for index in rest.indices {
            switch (rest[index], quote) {
            case (">", nil): return index
            case ("\"", nil), ("'", nil): quote = rest[index]
            case (let scalar, let open?) where scalar == open: quote = nil
            default: continue
            }
        }
        return rest.index(before: rest.endIndex)
    }

    private func attributes(of tag: Substring.UnicodeScalarView) -> String {
        var shown = ""
        var rest = tag
        while let equals = rest.firstIndex(of: "=") {
            let name = rest[..<equals].split(whereSeparator: \.properties.isWhitespace).last
            shown += Substring(rest[...equals])
            rest = rest[rest.index(after: equals)...].drop(while: \.properties.isWhitespace)
            guard let quote = rest.first, quote == "\"" || quote == "'" else { continue }
            let inner = rest.dropFirst().prefix { $0 != quote }
            let isSecret = Redaction.isKeyLike(name.map { Substring($0).lowercased() } ?? "")
            shown.unicodeScalars.append(quote)
            shown += isSecret ? Redaction.mark[...] : Substring(inner)
            rest = rest[inner.endIndex...]
            if !rest.isEmpty {
                shown.unicodeScalars.append(quote)
                rest.removeFirst()
            }
        }
        return shown + Substring(rest)
    }
}
