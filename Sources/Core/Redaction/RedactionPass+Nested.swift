// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// Content that is recognized within a text by its first bytes.
enum NestedKind {
    case json, xml, propertyList

    /// The name in a placeholder.
    var name: String {
        switch self {
        case .json: "JSON"
        case .xml: "XML"
        case .propertyList: "a binary property list"
        }
    }

    init?(sniffing text: [UInt8]) {
        guard let first = text.firstIndex(where: { $0 > 0x20 }),
            "b<{[".utf8.contains(text[first])
        else { return nil }
        let rest = text[first...]
        if rest.starts(with: "bplist0".utf8) {
            self = .propertyList
        } else if rest.starts(with: "<?xml".utf8) || rest.starts(with: "<!DOCTYPE plist".utf8) {
            self = .xml
        } else if Self.beginsJSON(rest) {
            self = .json
        } else {
            return nil
        }
    }

    // Accepts the start of an array or an object. A bracket alone may begin a line of a log.
    private static func beginsJSON(_ text: ArraySlice<UInt8>) -> Bool {
        guard let next = text.dropFirst().first(where: { $0 > 0x20 }) else { return false }
        switch text.first {
        case UInt8(ascii: "{"): return next == UInt8(ascii: "\"") || next == UInt8(ascii: "}")
        case UInt8(ascii: "["): return "{[]\"-".utf8.contains(next) || Grammar.isDigit(next)
        default: return false
        }
    }
}

extension RedactionPass {
    // Redacts content within base64, and encodes the result.
    func base64(_ text: [UInt8], _ isCut: Bool) -> [UInt8]? {
        guard text.count >= 16, Base64.isDigitOrBlank(text[0]), Base64.isDigitOrBlank(text[15]),
            Base64.mayHoldContent(text)
        else { return nil }
        work += text.count
        guard let plain = Base64.decode(text), let kind = NestedKind(sniffing: plain),
            depth < Self.maxDepth, let shown = nested(kind, plain, isCut)
        else { return nil }
        return Base64.encode(shown) + [UInt8](repeating: 0x3D, count: (3 - shown.count % 3) % 3)
    }

    /// Whether content holds a secret, or may hold one because it cannot be parsed.
    func holdsSecret(_ kind: NestedKind, _ content: [UInt8], isCut: Bool) -> Bool {
        if depth >= Self.maxDepth { return true }
        let inner = RedactionPass(redaction, purpose, known: known, xml: xml)
        inner.depth = depth + 1
        defer {
            found += inner.found
            work += inner.work
        }
        guard case .json = kind else { return inner.nested(kind, content, isCut) != nil }
        guard let shown = try? inner.json(content, isCut: isCut) else {
            return redaction.speaksOfSecrets(content)
        }
        return shown != content
    }

    // Returns content without its secrets, or nil if it has none. What only looks like content, or
    // is of a kind that nothing here reads, is searched as text. If it mentions a secret name, it is
    // withheld: which value belongs to the name is unknown.
    func nested(_ kind: NestedKind, _ text: [UInt8], _ isCut: Bool) -> [UInt8]? {
        do throws(ClientError) {
            let shown = try read(text, as: kind, isCut)
            return shown == text ? nil : shown
        } catch {
            // The strings of a binary list may be in UTF-16.
            if kind == .propertyList || redaction.speaksOfSecrets(text) {
                return withhold(text, as: kind.name, error.message)
            }
            return SecretScanner.redacted(text, as: .text, isCut: isCut, in: self)
        }
    }

    private func read(
        _ text: [UInt8], as kind: NestedKind, _ isCut: Bool
    ) throws(ClientError) -> [UInt8] {
        switch kind {
        case .json: return try json(text, isCut: isCut)
        case .xml:
            if let xml { return try xml(text, isCut, self) }
        case .propertyList: break
        }
        throw ClientError(.serialization, "nothing here reads it")
    }
}
