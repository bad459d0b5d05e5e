import Foundation

/// Copies XML text and leaves out what elements and attributes with secret names hold.
///
/// It needs no valid text, and no whole one.
struct XMLRedactor {
    private var rest: Substring
    private var output = ""

    init(_ text: String) { rest = text[...] }

    consuming func result() -> String {
        while let open = rest.firstIndex(of: "<") {
            output += rest[..<open]
            rest = rest[open...]
            copyTag()
        }
        return output + rest
    }

    private mutating func copyTag() {
        let tag = rest.prefix(through: tagEnd())
        let name = tag.dropFirst().prefix { !$0.isWhitespace && !"/>".contains($0) }
        rest = rest[tag.endIndex...]
        output += attributes(of: tag)
        guard !name.isEmpty, !tag.hasSuffix("/>"), Redaction.isKeyLike(name.lowercased()) else {
            return
        }
        output += Redaction.mark
        rest = rest.range(of: "</" + name).map { rest[$0.lowerBound...] } ?? ""
    }

    // The bracket that ends the tag, or the last character; brackets in quotes end nothing.
    private func tagEnd() -> String.Index {
        var quote: Character?
        for index in rest.indices {
            switch (rest[index], quote) {
            case (">", nil): return index
            case ("\"", nil), ("'", nil): quote = rest[index]
            case (let character, let open?) where character == open: quote = nil
            default: continue
            }
        }
        return rest.index(before: rest.endIndex)
    }

    private func attributes(of tag: Substring) -> String {
        var shown = ""
        var rest = tag
        while let equals = rest.firstIndex(of: "=") {
            let name = rest[..<equals].split(whereSeparator: \.isWhitespace).last ?? ""
            shown += rest[...equals]
            rest = rest[rest.index(after: equals)...].drop(while: \.isWhitespace)
            guard let quote = rest.first, quote == "\"" || quote == "'" else { continue }
            let inner = rest.dropFirst().prefix { $0 != quote }
            let value = Redaction.isKeyLike(name.lowercased()) ? Redaction.mark[...] : inner
            shown += String(quote) + value
            rest = rest[inner.endIndex...]
            if !rest.isEmpty {
                shown.append(quote)
                rest.removeFirst()
            }
        }
        return shown + rest
    }
}
