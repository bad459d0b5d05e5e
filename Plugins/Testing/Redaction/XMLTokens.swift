// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The tokens of an XML document, read strictly to the end or to the first fault.
///
/// A document type with declarations is a fault, because its entities are unknown here. The parser
/// of `TurnpikeXML` is not suitable: it reports no positions, refuses truncated text, replaces line
/// ends and has limits.
struct XMLTokens {
    enum Kind {
        case text, characterData, comment, instruction
        /// A start tag, with the range of its attributes.
        case open(element: Int, attributes: Range<Int>, isEmpty: Bool)
        case close
    }

    struct Token {
        let kind: Kind
        /// The whole token; ``inner`` is the text, CDATA or comment without its delimiters.
        let range: Range<Int>
        let inner: Range<Int>
    }

    struct Attribute {
        let name: Range<Int>
        /// The value without its quotes.
        let value: Range<Int>
    }

    struct Element {
        let name: Range<Int>
        let parent: Int?
        /// Whether the element's own name, one of its attributes or the preceding key names a
        /// secret.
        var isSecret = false
        /// Whether an attribute names a secret.
        ///
        /// The value in another attribute is then a secret.
        var namesSecret = false
        /// Whether a child element names a secret.
        ///
        /// The child element with the value is then a secret.
        var holdsName = false
        /// What the preceding `key` of a property list says about this element.
        fileprivate(set) var key = Key.other
        // What the last `key` child says about the next child, and whether that is hidden.
        fileprivate var lastKey = Key.other
        fileprivate var hidesNext = false
    }

    /// The property list keys that refer to each other: `name` and `value`.
    enum Key {
        case name, value, other
    }

    enum End: Error, Equatable {
        case finished
        /// The text ends within an element.
        case cut
        case broken(at: Int, String)
    }

    private(set) var tokens: [Token] = []
    private(set) var attributes: [Attribute] = []
    private(set) var elements: [Element] = []
    private(set) var end = End.finished

    private let bytes: [UInt8]
    private let redaction: Redaction
    private var position = 0
    private var stack: [Int] = []

    init(_ bytes: [UInt8], _ redaction: Redaction) {
        self.bytes = bytes
        self.redaction = redaction
        do {
            while position < bytes.count { try read() }
            if !stack.isEmpty || elements.isEmpty { end = .cut }
        } catch {
            end = error
        }
        // In truncated text, a name may have followed.
        for element in stack { elements[element].holdsName = true }
    }

    /// Returns the part of a name after its prefix.
    func local(_ name: Range<Int>) -> ArraySlice<UInt8> {
        let colon = bytes[name].lastIndex(of: UInt8(ascii: ":"))
        return bytes[colon.map { ($0 + 1)..<name.upperBound } ?? name]
    }

    // MARK: Tokens

    private mutating func read() throws(End) {
        let rest = bytes[position...]
        guard rest.first == UInt8(ascii: "<") else { return try text() }
        if rest.starts(with: "<!--".utf8) {
            try enclosed(.comment, from: 4, to: "-->")
        } else if rest.starts(with: "<![CDATA[".utf8) {
            if stack.isEmpty { throw .broken(at: position, "text is outside the document") }
            try enclosed(.characterData, from: 9, to: "]]>")
        } else if rest.starts(with: "<?".utf8) {
            try enclosed(.instruction, from: 2, to: "?>")
        } else if rest.starts(with: "<!DOCTYPE".utf8), elements.isEmpty {
            try documentType()
        } else if rest.starts(with: "</".utf8) {
            try closeTag()
        } else {
            try openTag()
        }
    }

    private mutating func text() throws(End) {
        let start = position
        position = bytes[start...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count
        let isBlank = bytes[start..<position].allSatisfy { $0 <= 0x20 }
        if stack.isEmpty, !isBlank {
            throw .broken(at: start, "text is outside the document")
        }
        tokens.append(Token(kind: .text, range: start..<position, inner: start..<position))
    }

    private mutating func enclosed(
        _ kind: Kind, from offset: Int, to mark: String
    ) throws(End) {
        let start = position + offset
        guard start <= bytes.count, let place = firstPlace(of: Array(mark.utf8), from: start) else {
            throw .cut
        }
        let end = place + mark.utf8.count
        tokens.append(Token(kind: kind, range: position..<end, inner: start..<place))
        position = end
    }

    private func firstPlace(of mark: [UInt8], from start: Int) -> Int? {
        var place = start
        while place + mark.count <= bytes.count {
            if bytes[place] == mark[0], bytes[place...].starts(with: mark) { return place }
            place += 1
        }
        return nil
    }

    private mutating func documentType() throws(End) {
        var place = position + 9
        var quote: UInt8?
        while place < bytes.count {
            switch (bytes[place], quote) {
            case (UInt8(ascii: "\""), nil), (UInt8(ascii: "'"), nil): quote = bytes[place]
            case (let byte, let open?) where byte == open: quote = nil
            case (UInt8(ascii: "["), nil):
                throw .broken(at: place, "its document type has declarations")
            case (UInt8(ascii: ">"), nil):
                let range = position..<(place + 1)
                tokens.append(Token(kind: .instruction, range: range, inner: range))
                position = place + 1
                return
            default: break
            }
            place += 1
        }
        throw .cut
    }

    // MARK: Tags

    private mutating func closeTag() throws(End) {
        let name = nameRange(position + 2)
        let end = skipBlanks(name.upperBound)
        guard end < bytes.count else { throw .cut }
        guard bytes[end] == UInt8(ascii: ">"), let open = stack.popLast(),
            bytes[elements[open].name] == bytes[name]
        else { throw .broken(at: position, "an end tag has no start tag") }
        noteName(in: open)
        let range = position..<(end + 1)
        tokens.append(Token(kind: .close, range: range, inner: name))
        position = end + 1
    }

    private mutating func openTag() throws(End) {
        let name = nameRange(position + 1)
        if name.upperBound == bytes.count { throw .cut }
        if name.isEmpty { throw .broken(at: position, "a tag has no name") }
        if stack.isEmpty, !elements.isEmpty {
            throw .broken(at: position, "content follows the document")
        }
        var element = Element(name: name, parent: stack.last)
        element.isSecret = redaction.hides(element: bytes[name])
        if let parent = stack.last {
            element.isSecret = element.isSecret || elements[parent].hidesNext
            element.key = elements[parent].lastKey
            elements[parent].hidesNext = false
            elements[parent].lastKey = .other
        }
        let first = attributes.count
        var place = name.upperBound
        while true {
            let next = skipBlanks(place)
            guard next < bytes.count else { throw .cut }
            if bytes[next] == UInt8(ascii: ">") || bytes[next] == UInt8(ascii: "/") {
                place = next
                break
            }
            if next == place { throw .broken(at: next, "a tag is malformed") }
            place = try attribute(next, of: &element)
        }
        let isEmpty = bytes[place] == UInt8(ascii: "/")
        if isEmpty {
            place += 1
            guard place < bytes.count else { throw .cut }
            guard bytes[place] == UInt8(ascii: ">") else {
                throw .broken(at: place, "a tag is malformed")
            }
        }
        let kind = Kind.open(
            element: elements.count, attributes: first..<attributes.count, isEmpty: isEmpty)
        tokens.append(Token(kind: kind, range: position..<(place + 1), inner: name))
        if !isEmpty { stack.append(elements.count) }
        elements.append(element)
        position = place + 1
    }

    private mutating func attribute(_ start: Int, of element: inout Element) throws(End) -> Int {
        let name = nameRange(start)
        let equals = skipBlanks(name.upperBound)
        let open = skipBlanks(equals + 1)
        guard open < bytes.count else { throw .cut }
        guard !name.isEmpty, bytes[equals] == UInt8(ascii: "="),
            bytes[open] == UInt8(ascii: "\"") || bytes[open] == UInt8(ascii: "'")
        else { throw .broken(at: start, "an attribute is malformed") }
        let stop = bytes[(open + 1)...].firstIndex { $0 == bytes[open] || $0 == UInt8(ascii: "<") }
        guard let stop else { throw .cut }
        guard bytes[stop] == bytes[open] else {
            throw .broken(at: stop, "an attribute value contains a tag")
        }
        let value = (open + 1)..<stop
        attributes.append(Attribute(name: name, value: value))
        let local = Array(local(name))
        let isNaming = Redaction.namesAnother(local) || local.elementsEqual("type".utf8)
        if isNaming, redaction.hides(key: bytes[value]) {
            element.namesSecret = true
            // A form field of type "password" has no secret content.
            if !local.elementsEqual("type".utf8) { element.isSecret = true }
        }
        return stop + 1
    }

    private func nameRange(_ start: Int) -> Range<Int> {
        var end = min(start, bytes.count)
        while end < bytes.count, Self.isOfName(bytes[end]) { end += 1 }
        return min(start, end)..<end
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        Grammar.isAlphanumeric(byte) || byte >= 0x80 || "-_.:".utf8.contains(byte)
    }

    private func skipBlanks(_ start: Int) -> Int {
        var place = start
        while place < bytes.count, bytes[place] <= 0x20 { place += 1 }
        return place
    }

    // `<key>password</key>` marks the next element as a secret. `<name>password</name>` marks a
    // sibling. `<key>name</key>` gives the next element the role of `<name>`.
    private mutating func noteName(in element: Int) {
        let name = local(elements[element].name)
        let isNaming = Redaction.namesAnother(name)
        guard let parent = elements[element].parent, isNaming || elements[element].key == .name
        else {
            return
        }
        let text = textBehindLastTag()
        let isKey = name.elementsEqual("key".utf8)
        if isKey {
            elements[parent].lastKey =
                Redaction.namesAnother(text)
                ? .name : Redaction.isValueOfAnother(text) ? .value : .other
        }
        guard redaction.hides(key: text) else { return }
        if isNaming { elements[parent].hidesNext = true }
        if !isKey { elements[parent].holdsName = true }
    }

    private func textBehindLastTag() -> [UInt8] {
        let inner = tokens.reversed().prefix { token in
            switch token.kind {
            case .open, .close: false
            default: true
            }
        }
        let text = inner.reversed().flatMap { token -> ArraySlice<UInt8> in
            switch token.kind {
            case .text, .characterData: bytes[token.inner]
            default: []
            }
        }
        return Array(text.split { $0 <= 0x20 }.joined())
    }
}
