// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// Copies an XML document.
///
/// Hides the content of elements and attributes with secret names, and the secrets in all other
/// text.
struct XMLRedactor {
    private let bytes: [UInt8]
    private let pass: RedactionPass
    private let document: XMLTokens
    private var output: [UInt8] = []
    private var copied = 0
    private var token = 0
    // The open elements.
    private var stack: [Int] = []
    // The number of open elements, counted from the outermost hidden element; 0 if none is hidden.
    private var hidden = 0

    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` if the text is not well-formed.
    static func redacted(
        _ bytes: [UInt8], isCut: Bool, in pass: RedactionPass
    ) throws(ClientError) -> [UInt8] {
        let document = XMLTokens(bytes, pass.redaction)
        switch document.end {
        case .finished: break
        case .cut where isCut: break
        case .cut: throw .unreadable("it ends within the document")
        case .broken(let position, let reason): throw .unreadable(reason, at: position)
        }
        var redactor = XMLRedactor(bytes: bytes, pass: pass, document: document)
        redactor.copyTokens()
        return redactor.finished()
    }

    private init(bytes: [UInt8], pass: RedactionPass, document: XMLTokens) {
        self.bytes = bytes
        self.pass = pass
        self.document = document
        output.reserveCapacity(bytes.count)
    }

    private consuming func finished() -> [UInt8] {
        // The text after the last complete token is truncated.
        copy(upTo: document.tokens.last?.range.upperBound ?? 0)
        return output
    }

    private mutating func copy(upTo end: Int) {
        guard copied < end else { return }
        output += bytes[copied..<end]
        copied = end
    }

    private mutating func replace(_ range: Range<Int>, with other: [UInt8]) {
        copy(upTo: range.lowerBound)
        output += other
        copied = max(copied, range.upperBound)
    }

    private mutating func copyTokens() {
        while token < document.tokens.count {
            let one = document.tokens[token]
            token += 1
            switch one.kind {
            case .open(let element, let attributes, let isEmpty):
                open(element, attributes, isEmpty)
            case .close:
                stack.removeLast()
                hidden = max(0, hidden - 1)
            case .text, .characterData, .comment, .instruction: run(from: token - 1)
            }
        }
    }

    private mutating func open(_ element: Int, _ attributes: Range<Int>, _ isEmpty: Bool) {
        let one = document.elements[element]
        let isNamed = one.parent.map { document.elements[$0].holdsName } ?? false
        let isSecret =
            one.isSecret || isPrivatePartOfKey(one)
            || (isNamed
                && (one.key == .value || Redaction.isValueOfAnother(document.local(one.name))))
        for attribute in document.attributes[attributes] {
            copy(attribute, hidesAll: hidden > 0, hidesValue: isSecret || one.namesSecret)
        }
        if isEmpty { return }
        if hidden > 0 || isSecret { hidden += 1 }
        stack.append(element)
    }

    // Whether the element is a private part of a key in XML, as .NET writes it.
    private func isPrivatePartOfKey(_ element: XMLTokens.Element) -> Bool {
        guard let parent = element.parent,
            bytes[document.elements[parent].name].elementsEqual("RSAKeyValue".utf8)
        else { return false }
        return ["D", "P", "Q", "DP", "DQ", "InverseQ"].contains {
            bytes[element.name].elementsEqual($0.utf8)
        }
    }

    // MARK: Leaves

    private mutating func copy(
        _ attribute: XMLTokens.Attribute, hidesAll: Bool, hidesValue: Bool
    ) {
        if attribute.value.isEmpty || bytes[attribute.name].starts(with: "xmlns".utf8) { return }
        let name = document.local(attribute.name)
        let value = Self.meaning(of: bytes[attribute.value])
        if hidesAll || pass.redaction.hides(element: name)
            || (hidesValue && Redaction.isValueOfAnother(name))
        {
            replace(attribute.value, with: pass.hide(value))
        } else if let shown = pass.value(value) {
            replace(attribute.value, with: Self.escaped(shown))
        }
    }

    // Treats all text up to the next tag as one text, even if comments or CDATA sections split it.
    private mutating func run(from first: Int) {
        var text: [UInt8] = []
        while token < document.tokens.count, isText(document.tokens[token]) { token += 1 }
        let run = document.tokens[first..<token]
        for one in run {
            switch one.kind {
            case .text: text += Self.meaning(of: bytes[one.inner])
            case .characterData: text += bytes[one.inner]
            default: break
            }
        }
        guard let last = run.last else { return }
        let range = document.tokens[first].range.lowerBound..<last.range.upperBound
        if hidden > 0, !isKeyOfList {
            hide(text, range)
        } else if !text.allSatisfy({ $0 <= 0x20 }),
            let shown = pass.value(
                text, isCut: document.end == .cut && last.range.upperBound == bytes.count)
        {
            replace(range, with: Self.escaped(shown))
        } else {
            for one in run { copyRemark(one) }
        }
    }

    // The keys of a property list are kept. Otherwise two keys could become equal.
    private var isKeyOfList: Bool {
        guard isPropertyList, let element = stack.last else { return false }
        return bytes[document.elements[element].name].elementsEqual("key".utf8)
    }

    private func isText(_ token: XMLTokens.Token) -> Bool {
        switch token.kind {
        case .open, .close: false
        default: true
        }
    }

    private mutating func copyRemark(_ remark: XMLTokens.Token) {
        switch remark.kind {
        case .comment, .instruction:
            if let shown = pass.value(Array(bytes[remark.inner])) {
                replace(remark.inner, with: shown)
            }
        default: break
        }
    }

    private mutating func hide(_ text: [UInt8], _ range: Range<Int>) {
        let parts = text.split { $0 <= 0x20 }
        guard let first = parts.first, let last = parts.last else {
            // The hidden element contains only comments, instructions or empty CDATA sections.
            if bytes[range].contains(UInt8(ascii: "<")) { replace(range, with: []) }
            return
        }
        _ = pass.hide(text[first.startIndex..<last.endIndex])
        replace(
            range,
            with: Self.mark(
                for: stack.last.map { document.local(document.elements[$0].name) } ?? [],
                isPlist: isPropertyList))
    }

    private var isPropertyList: Bool {
        document.elements.first.map { bytes[$0.name].elementsEqual("plist".utf8) } ?? false
    }

    // Values of property lists keep their kinds. The mark is also valid base64.
    private static func mark(for element: ArraySlice<UInt8>, isPlist: Bool) -> [UInt8] {
        guard isPlist else { return Array(Redaction.mark.utf8) }
        switch String(decoding: element, as: UTF8.self) {
        case "integer", "real": return [UInt8(ascii: "0")]
        case "date": return Array("1970-01-01T00:00:00Z".utf8)
        default: return Array(Redaction.mark.utf8)
        }
    }

    // MARK: Spelling

    // Resolves entities and character references. Unknown ones stay as text.
    private static func meaning(of text: ArraySlice<UInt8>) -> [UInt8] {
        guard text.contains(UInt8(ascii: "&")) else { return Array(text) }
        var plain: [UInt8] = []
        plain.reserveCapacity(text.count)
        var place = text.startIndex
        while place < text.endIndex {
            if text[place] == UInt8(ascii: "&") {
                let name = text[place...].dropFirst().prefix(12).prefix { $0 != UInt8(ascii: ";") }
                if name.endIndex < text.endIndex, text[name.endIndex] == UInt8(ascii: ";"),
                    let scalar = scalar(named: name)
                {
                    plain += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
                    place = name.endIndex + 1
                    continue
                }
            }
            plain.append(text[place])
            place += 1
        }
        return plain
    }

    private static func scalar(named name: ArraySlice<UInt8>) -> Unicode.Scalar? {
        switch String(decoding: name, as: UTF8.self) {
        case "amp": "&"
        case "lt": "<"
        case "gt": ">"
        case "quot": "\""
        case "apos": "'"
        case let name where name.hasPrefix("#x"):
            UInt32(name.dropFirst(2), radix: 16).flatMap(Unicode.Scalar.init)
        case let name where name.hasPrefix("#"):
            UInt32(name.dropFirst()).flatMap(Unicode.Scalar.init)
        default: nil
        }
    }

    // In ASCII, because the document may be in any charset.
    private static func escaped(_ text: [UInt8]) -> [UInt8] {
        var escaped: [UInt8] = []
        escaped.reserveCapacity(text.count)
        for byte in text {
            switch byte {
            case UInt8(ascii: "&"): escaped += "&amp;".utf8
            case UInt8(ascii: "<"): escaped += "&lt;".utf8
            case UInt8(ascii: ">"): escaped += "&gt;".utf8
            case UInt8(ascii: "\""): escaped += "&quot;".utf8
            case UInt8(ascii: "'"): escaped += "&apos;".utf8
            default: escaped.append(byte)
            }
        }
        return String(decoding: escaped, as: UTF8.self).unicodeScalars.flatMap {
            scalar -> [UInt8] in
            scalar.isASCII ? [UInt8(scalar.value)] : Array("&#\(scalar.value);".utf8)
        }
    }

    /// Returns the encodings that a document declares, if the declaration is readable.
    static func declaredEncodings(_ content: [UInt8]) -> [String] {
        let start = content.prefix(400)
        let plain = String(decoding: start.filter { $0 != 0 && $0 < 0x80 }, as: UTF8.self)
        guard let end = plain.firstRange(of: "?>"), plain.contains("<?xml") else { return [] }
        let labels = plain[..<end.lowerBound].matches(of: /encoding\s*=\s*["']([^"']*)["']/).map {
            String($0.1)
        }
        // An ASCII declaration that says UTF-16 is wrong; parsers trust the bytes.
        let isWide = start.contains(0)
        return labels.filter { isWide || !$0.lowercased().hasPrefix("utf-16") }
    }
}
