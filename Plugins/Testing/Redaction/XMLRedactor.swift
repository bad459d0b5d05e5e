// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// Copies an XML document without its secrets.
///
/// The content of elements and attributes with secret names is hidden, and secrets in other text
/// are hidden too. A document type with declarations is a fault, because the entities are unknown
/// here. The parser of `TurnpikeXML` is unsuitable, because it reports no positions, refuses
/// truncated text, replaces line ends and has limits.
struct XMLRedactor {
    private enum Fault: Error {
        /// The text ends within an element.
        case cut
        case broken(String, at: Int)
    }

    private struct Element {
        let name: Range<Int>
        let parent: Int?
        /// Whether the element's name, an attribute or the preceding key names a secret.
        var isSecret = false
        /// Whether the content is a value whose name is in a sibling or in the preceding key.
        var isValue = false
        /// Whether the content is a name, according to the preceding key of a property list.
        var isName = false
        // Whether a child contains the name of a secret. The child with the value is then secret.
        var holdsName = false
        // The properties of the next child, according to the last child.
        var next = (isSecret: false, isValue: false, isName: false)
    }

    private enum Leaf {
        /// The value of an attribute. A secret value, the value of a secret element and a value
        /// within a hidden element are hidden.
        case attribute(Range<Int>, of: Int, isSecret: Bool, isValue: Bool)
        case run(Run, of: Int?)
    }

    /// All text between two tags, including text after comments and CDATA sections.
    private struct Run {
        var range: Range<Int>
        var text: [UInt8] = []
        /// The comments and instructions without their delimiters.
        var remarks: [Range<Int>] = []
    }

    private let bytes: [UInt8]
    private let pass: RedactionPass
    private var elements: [Element] = []
    private var leaves: [Leaf] = []
    private var stack: [Int] = []
    private var run = Run(range: 0..<0)
    // The position after the last complete token.
    private var position = 0
    private var output: [UInt8] = []
    private var copied = 0

    static func redacted(
        _ bytes: [UInt8], isCut: Bool, in pass: RedactionPass
    ) throws(ClientError) -> [UInt8] {
        var redactor = XMLRedactor(bytes: bytes, pass: pass)
        do {
            try redactor.read()
        } catch {
            switch error {
            case .cut where isCut: break
            case .cut: throw .unreadable("it ends within the document")
            case .broken(let reason, let position): throw .unreadable(reason, at: position)
            }
        }
        redactor.endRun()
        redactor.copyLeaves()
        return redactor.output + bytes[redactor.copied..<redactor.position]
    }

    private init(bytes: [UInt8], pass: RedactionPass) {
        self.bytes = bytes
        self.pass = pass
    }

    // MARK: Reading

    private mutating func read() throws(Fault) {
        // In truncated text, the missing part may contain a name.
        defer { for element in stack { elements[element].holdsName = true } }
        while position < bytes.count {
            let rest = bytes[position...]
            if rest.first != UInt8(ascii: "<") {
                try readText()
            } else if rest.starts(with: "<!--".utf8) {
                run.remarks.append(try take(from: 4, to: "-->"))
            } else if rest.starts(with: "<![CDATA[".utf8) {
                if stack.isEmpty { throw .broken("text is outside the document", at: position) }
                run.text += bytes[try take(from: 9, to: "]]>")]
            } else if rest.starts(with: "<?".utf8) {
                run.remarks.append(try take(from: 2, to: "?>"))
            } else if rest.starts(with: "<!DOCTYPE".utf8), elements.isEmpty {
                try readDocumentType()
            } else if rest.starts(with: "</".utf8) {
                try readEnd()
            } else {
                try readStart()
            }
        }
        if !stack.isEmpty || elements.isEmpty { throw .cut }
    }

    private mutating func readText() throws(Fault) {
        let start = position
        position = bytes[start...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count
        let text = bytes[start..<position]
        if stack.isEmpty, !text.allSatisfy({ $0 <= 0x20 }) {
            throw .broken("text is outside the document", at: start)
        }
        run.text += XMLText.meaning(of: text)
    }

    private mutating func take(from offset: Int, to mark: String) throws(Fault) -> Range<Int> {
        let start = position + offset
        let mark = Array(mark.utf8)
        var place = start
        while place + mark.count <= bytes.count {
            if bytes[place] == mark[0], bytes[place...].starts(with: mark) {
                position = place + mark.count
                return start..<place
            }
            place += 1
        }
        throw .cut
    }

    private mutating func readDocumentType() throws(Fault) {
        var quote: UInt8?
        for place in (position + 9)..<max(bytes.count, position + 9) {
            switch (bytes[place], quote) {
            case (UInt8(ascii: "\""), nil), (UInt8(ascii: "'"), nil): quote = bytes[place]
            case (let byte, let open?) where byte == open: quote = nil
            case (UInt8(ascii: "["), nil):
                throw .broken("its document type has declarations", at: place)
            case (UInt8(ascii: ">"), nil):
                run.remarks.append(position..<(place + 1))
                position = place + 1
                return
            default: break
            }
        }
        throw .cut
    }

    private mutating func endRun() {
        run.range = run.range.lowerBound..<position
        if !run.range.isEmpty { leaves.append(.run(run, of: stack.last)) }
    }

    private mutating func beginRun(at place: Int) {
        position = place
        run = Run(range: place..<place)
    }

    // MARK: Tags

    private mutating func readEnd() throws(Fault) {
        let name = nameRange(position + 2)
        let end = skipBlanks(name.upperBound)
        guard end < bytes.count else { throw .cut }
        guard bytes[end] == UInt8(ascii: ">"), let open = stack.last,
            bytes[elements[open].name] == bytes[name]
        else { throw .broken("an end tag has no start tag", at: position) }
        noteName(in: open)
        endRun()
        stack.removeLast()
        beginRun(at: end + 1)
    }

    private mutating func readStart() throws(Fault) {
        let name = nameRange(position + 1)
        if name.upperBound == bytes.count { throw .cut }
        if name.isEmpty { throw .broken("a tag has no name", at: position) }
        if stack.isEmpty, !elements.isEmpty {
            throw .broken("content follows the document", at: position)
        }
        let parent = stack.last
        var element = Element(name: name, parent: parent)
        let said =
            parent.map { elements[$0].next } ?? (isSecret: false, isValue: false, isName: false)
        element.isSecret =
            said.isSecret || pass.redaction.hides(element: bytes[name])
            || isPartOfKey(name, in: parent)
        element.isValue = said.isValue || Redaction.isValueOfAnother(local(name))
        element.isName = said.isName
        var attributes: [Leaf] = []
        var place = name.upperBound
        while true {
            let next = skipBlanks(place)
            guard next < bytes.count else { throw .cut }
            let isEnd = bytes[next] == UInt8(ascii: ">") || bytes[next] == UInt8(ascii: "/")
            if isEnd || next == place {
                place = next
                break
            }
            place = try readAttribute(next, of: &element, &attributes)
        }
        let isEmpty = bytes[place] == UInt8(ascii: "/")
        if isEmpty { place += 1 }
        guard place < bytes.count else { throw .cut }
        guard bytes[place] == UInt8(ascii: ">") else {
            throw .broken("a tag is malformed", at: place)
        }
        endRun()
        if let parent { elements[parent].next = (false, false, false) }
        leaves += attributes
        if !isEmpty { stack.append(elements.count) }
        elements.append(element)
        beginRun(at: place + 1)
    }

    private func readAttribute(
        _ start: Int, of element: inout Element, _ attributes: inout [Leaf]
    ) throws(Fault) -> Int {
        let name = nameRange(start)
        let equals = skipBlanks(name.upperBound)
        let open = skipBlanks(equals + 1)
        guard open < bytes.count else { throw .cut }
        guard !name.isEmpty, bytes[equals] == UInt8(ascii: "="),
            bytes[open] == UInt8(ascii: "\"") || bytes[open] == UInt8(ascii: "'")
        else { throw .broken("an attribute is malformed", at: start) }
        let stop = bytes[(open + 1)...].firstIndex { $0 == bytes[open] || $0 == UInt8(ascii: "<") }
        guard let stop else { throw .cut }
        guard bytes[stop] == bytes[open] else {
            throw .broken("an attribute value contains a tag", at: stop)
        }
        let value = (open + 1)..<stop
        let local = local(name)
        // A form field of type "password" has no secret content, but a secret value.
        let isType = local.elementsEqual("type".utf8)
        if isType || Redaction.namesAnother(local), pass.redaction.hides(key: bytes[value]) {
            element.holdsName = true
            if !isType { element.isSecret = true }
        }
        if !value.isEmpty, !bytes[name].starts(with: "xmlns".utf8) {
            attributes.append(
                .attribute(
                    value, of: elements.count, isSecret: pass.redaction.hides(element: local),
                    isValue: Redaction.isValueOfAnother(local)))
        }
        return stop + 1
    }

    // Whether an element is a private part of an XML key in the format of .NET.
    private func isPartOfKey(_ name: Range<Int>, in parent: Int?) -> Bool {
        guard let parent, bytes[elements[parent].name].elementsEqual("RSAKeyValue".utf8) else {
            return false
        }
        return ["D", "P", "Q", "DP", "DQ", "InverseQ"].contains {
            bytes[name].elementsEqual($0.utf8)
        }
    }

    // `<key>password</key>` marks the next element as a secret. `<name>password</name>` marks a
    // sibling. `<key>name</key>` gives the next element the role of `<name>`.
    private mutating func noteName(in element: Int) {
        let name = local(elements[element].name)
        let isNaming = Redaction.namesAnother(name)
        guard let parent = elements[element].parent, isNaming || elements[element].isName else {
            return
        }
        let text = Array(run.text.split { $0 <= 0x20 }.joined())
        let isKey = name.elementsEqual("key".utf8)
        if isKey {
            elements[parent].next.isName = Redaction.namesAnother(text)
            elements[parent].next.isValue = Redaction.isValueOfAnother(text)
        }
        guard pass.redaction.hides(key: text) else { return }
        if isNaming { elements[parent].next.isSecret = true }
        if !isKey { elements[parent].holdsName = true }
    }

    /// Returns the part of a name after its prefix.
    private func local(_ name: Range<Int>) -> ArraySlice<UInt8> {
        let colon = bytes[name].lastIndex(of: UInt8(ascii: ":"))
        return bytes[colon.map { ($0 + 1)..<name.upperBound } ?? name]
    }

    private func nameRange(_ start: Int) -> Range<Int> {
        let start = min(start, bytes.count)
        let end = bytes[start...].firstIndex { byte in
            !Grammar.isAlphanumeric(byte) && byte < 0x80 && !"-_.:".utf8.contains(byte)
        }
        return start..<(end ?? bytes.count)
    }

    private func skipBlanks(_ start: Int) -> Int {
        let start = min(start, bytes.count)
        return bytes[start...].firstIndex { $0 > 0x20 } ?? bytes.count
    }

    // MARK: Copying

    private mutating func copyLeaves() {
        // In the list, parents precede children.
        var secret: [Bool] = []
        var hidden: [Bool] = []
        for element in elements {
            let isNamed = element.parent.map { elements[$0].holdsName } ?? false
            secret.append(element.isSecret || isNamed && element.isValue)
            hidden.append(secret[secret.count - 1] || element.parent.map { hidden[$0] } ?? false)
        }
        for leaf in leaves {
            switch leaf {
            case .attribute(let range, let index, let isSecret, let isValue):
                let element = elements[index]
                let value = XMLText.meaning(of: bytes[range])
                if isSecret || element.parent.map({ hidden[$0] }) ?? false
                    || isValue && (secret[index] || element.holdsName)
                {
                    replace(range, with: pass.hide(value))
                } else if let shown = pass.value(value) {
                    replace(range, with: XMLText.escaped(shown))
                }
            case .run(let run, let index):
                let name = index.map { local(elements[$0].name) } ?? []
                // The keys of a property list are kept, because two hidden keys could become equal.
                let isKey = isPropertyList && name.elementsEqual("key".utf8)
                if let index, hidden[index], !isKey { hide(run, name) } else { copy(run) }
            }
        }
    }

    private mutating func copy(_ run: Run) {
        let isCut = !stack.isEmpty && run.range.upperBound == bytes.count
        if !run.text.allSatisfy({ $0 <= 0x20 }), let shown = pass.value(run.text, isCut: isCut) {
            return replace(run.range, with: XMLText.escaped(shown))
        }
        for remark in run.remarks {
            if let shown = pass.value(Array(bytes[remark])) { replace(remark, with: shown) }
        }
    }

    private mutating func hide(_ run: Run, _ name: ArraySlice<UInt8>) {
        let parts = run.text.split { $0 <= 0x20 }
        guard let first = parts.first, let last = parts.last else {
            // The hidden element contains only comments, instructions or empty CDATA sections.
            if bytes[run.range].contains(UInt8(ascii: "<")) { replace(run.range, with: []) }
            return
        }
        _ = pass.hide(run.text[first.startIndex..<last.endIndex])
        replace(run.range, with: mark(for: name))
    }

    private mutating func replace(_ range: Range<Int>, with other: [UInt8]) {
        output += bytes[copied..<range.lowerBound] + other
        copied = range.upperBound
    }

    private var isPropertyList: Bool {
        elements.first.map { bytes[$0.name].elementsEqual("plist".utf8) } ?? false
    }

    // Values of property lists keep their kinds. The mark is also valid base64.
    private func mark(for element: ArraySlice<UInt8>) -> [UInt8] {
        switch isPropertyList ? String(decoding: element, as: UTF8.self) : "" {
        case "integer", "real": [UInt8(ascii: "0")]
        case "date": Array("1970-01-01T00:00:00Z".utf8)
        default: Array(Redaction.mark.utf8)
        }
    }
}
