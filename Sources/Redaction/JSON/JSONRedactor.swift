// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// Copies JSON texts without the values of secret members and without the secrets in strings.
struct JSONRedactor {
    private let bytes: [UInt8]
    private let search: SecretSearch
    private let text: JSONTokens
    private var output: [UInt8] = []
    private var copied = 0
    private var token = 0

    /// - Returns: The redacted text; for display, the readable part of a broken text.
    /// - Throws: ``ContentFault`` if the text is not JSON.
    static func redacted(
        _ bytes: [UInt8], isCut: Bool, in search: SecretSearch
    ) throws(ContentFault) -> [UInt8] {
        let text = JSONTokens(bytes, search.rules)
        search.work += 2 * bytes.count
        switch text.end {
        case .finished: break
        case .cut where isCut: break
        case .cut where search.purpose == .record || text.tokens.isEmpty:
            throw ContentFault("it ends within a value")
        case .broken(let position, let reason)
        where search.purpose == .record || text.tokens.isEmpty:
            throw ContentFault("\(reason) at byte \(position)")
        case .cut, .broken: break
        }
        var redactor = JSONRedactor(bytes: bytes, search: search, text: text)
        redactor.output.reserveCapacity(bytes.count)
        redactor.copyTokens()
        return redactor.finished()
    }

    private consuming func finished() -> [UInt8] {
        switch text.end {
        case .finished: output += bytes[copied...]
        // The last token is dropped, because the meaning of the token is unknown.
        case .cut: break
        case .broken(let position, let reason):
            let rest = bytes[copied...]
            output += search.withhold(rest, as: "JSON", "\(reason) at byte \(position)")
        }
        return output
    }

    private mutating func copy(upTo end: Int) {
        output += bytes[copied..<end]
        copied = end
    }

    private mutating func replace(_ range: Range<Int>, with other: [UInt8]) {
        copy(upTo: range.lowerBound)
        output += other
        copied = range.upperBound
    }

    private mutating func copyTokens() {
        while token < text.tokens.count {
            let one = text.tokens[token]
            token += 1
            switch one.kind {
            case .string: string(one.range)
            case .number: number(one.range)
            case .name: member(one)
            default: break
            }
            if text.end != .finished { copy(upTo: max(copied, end(of: one))) }
        }
    }

    // Includes the closing quote.
    private func end(of token: JSONTokens.Token) -> Int {
        switch token.kind {
        case .name, .string: token.range.upperBound + 1
        default: token.range.upperBound
        }
    }

    private mutating func member(_ name: JSONTokens.Token) {
        let object = text.objects[Int(name.object)]
        let meaning = Self.meaning(of: bytes[name.range])
        let isNamed =
            object.hides(meaning, of: text.objects)
            || search.rules.hides(key: meaning)
                && !(object.namesSecret && SecretNames.namesAnother(meaning))
        string(name.range)
        guard isNamed, token < text.tokens.count else { return }
        let value = text.tokens[token]
        switch value.kind {
        case .number where SecretNames.isCount(meaning): return
        case .number, .string:
            if SecretNames.isCodeOfError(meaning, bytes[value.range]) { return }
        default: break
        }
        hideValue()
    }

    // MARK: Leaves

    private mutating func string(_ range: Range<Int>) {
        let plain = Self.meaning(of: bytes[range])
        if let shown = search.value(plain) { replace(range, with: Self.literal(shown)) }
    }

    private func isKnown(_ range: Range<Int>) -> Bool {
        var isKnown = false
        search.rules.known.search(Array(bytes[range]), isCut: false, work: &search.work) {
            isKnown = isKnown || $0.count == range.count
        }
        return isKnown
    }

    private mutating func number(_ range: Range<Int>) {
        if isKnown(range) { hideNumber(range) }
    }

    private mutating func hideNumber(_ range: Range<Int>) {
        switch search.purpose {
        case .display: replace(range, with: Self.quotedMark)
        case .record: replace(range, with: [UInt8(ascii: "0")])
        }
    }

    private static let quotedMark = Array("\"\(SecretRules.mark)\"".utf8)

    // MARK: Hidden values

    // For display, an object or array becomes one mark; in a record, each value keeps its kind.
    private mutating func hideValue() {
        let first = token
        var depth = 0
        repeat {
            let one = text.tokens[token]
            token += 1
            switch one.kind {
            case .beginObject, .beginArray: depth += 1
            case .endObject, .endArray: depth -= 1
            case .string, .number: search.learn(Self.meaning(of: bytes[one.range]), isNamed: true)
            case .name, .word: break
            }
        } while depth > 0 && token < text.tokens.count
        let value = text.tokens[first..<token]
        if search.purpose == .display, value.count > 2 {
            let end = text.tokens[token - 1].range.upperBound
            return replace(text.tokens[first].range.lowerBound..<end, with: Self.quotedMark)
        }
        for one in value where !one.range.isEmpty {
            switch one.kind {
            case .name: string(one.range)
            case .string: replace(one.range, with: SecretSearch.mark)
            case .number: hideNumber(one.range)
            default: break
            }
        }
    }

    // MARK: Spelling

    /// Returns the string without its escapes, or unchanged if one of the escapes is invalid.
    static func meaning(of literal: ArraySlice<UInt8>) -> [UInt8] {
        let bytes = Array(literal)
        guard bytes.contains(UInt8(ascii: "\\")) else { return bytes }
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count)
        var place = 0
        while place < bytes.count {
            guard bytes[place] == UInt8(ascii: "\\") else {
                text.append(bytes[place])
                place += 1
                continue
            }
            guard let (scalar, count) = escape(bytes, place) else { return bytes }
            text += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
            place += count
        }
        return text
    }

    // RFC 8259 §7.
    private static func escape(_ bytes: [UInt8], _ start: Int) -> (Unicode.Scalar, Int)? {
        guard start + 1 < bytes.count else { return nil }
        switch bytes[start + 1] {
        case UInt8(ascii: "b"): return ("\u{8}", 2)
        case UInt8(ascii: "f"): return ("\u{C}", 2)
        case UInt8(ascii: "n"): return ("\n", 2)
        case UInt8(ascii: "r"): return ("\r", 2)
        case UInt8(ascii: "t"): return ("\t", 2)
        case UInt8(ascii: "u"): return Escape.utf16(bytes, start)
        case let byte: return (Unicode.Scalar(byte), 2)
        }
    }

    // Returns the text of a literal between its quotes (RFC 8259 §7).
    private static func literal(_ text: [UInt8]) -> [UInt8] {
        var literal: [UInt8] = []
        for byte in String(decoding: text, as: UTF8.self).utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): literal += [UInt8(ascii: "\\"), byte]
            case 0x0A: literal += #"\n"#.utf8
            case 0x0D: literal += #"\r"#.utf8
            case 0x09: literal += #"\t"#.utf8
            case 0..<0x20:
                literal += ((byte < 0x10 ? #"\u000"# : #"\u00"#) + String(byte, radix: 16)).utf8
            default: literal.append(byte)
            }
        }
        return literal
    }
}
