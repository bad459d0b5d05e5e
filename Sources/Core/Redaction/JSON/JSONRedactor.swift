// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// Copies JSON texts without the values of secret members and without the secrets in strings.
struct JSONRedactor {
    private let bytes: [UInt8]
    private let pass: RedactionPass
    private let text: JSONTokens
    private var output: [UInt8] = []
    private var copied = 0
    private var token = 0

    /// - Returns: The redacted text; for display, the readable part of a broken text.
    /// - Throws: ``ClientError/Code/serialization`` if the text is not JSON.
    static func redacted(
        _ bytes: [UInt8], isCut: Bool, in pass: RedactionPass
    ) throws(ClientError) -> [UInt8] {
        let text = JSONTokens(bytes, pass.redaction)
        pass.work += 2 * bytes.count
        switch text.end {
        case .finished: break
        case .cut where isCut: break
        case .cut where pass.purpose == .record || text.tokens.isEmpty:
            throw ClientError(.serialization, "it ends within a value")
        case .broken(let position, let reason)
        where pass.purpose == .record || text.tokens.isEmpty:
            throw ClientError(.serialization, "\(reason) at byte \(position)")
        case .cut, .broken: break
        }
        var redactor = JSONRedactor(bytes: bytes, pass: pass, text: text)
        redactor.copyTokens()
        return redactor.finished()
    }

    private init(bytes: [UInt8], pass: RedactionPass, text: JSONTokens) {
        self.bytes = bytes
        self.pass = pass
        self.text = text
        output.reserveCapacity(bytes.count)
    }

    private consuming func finished() -> [UInt8] {
        switch text.end {
        case .finished: output += bytes[copied...]
        // The last token is dropped, because its meaning is unknown.
        case .cut: break
        case .broken(let position, let reason):
            let rest = bytes[copied...]
            output += pass.withhold(rest, as: "JSON", "\(reason) at byte \(position)")
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
            || pass.redaction.hides(key: meaning)
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
        if let shown = pass.value(plain) { replace(range, with: Self.literal(shown)) }
    }

    private func isKnown(_ range: Range<Int>) -> Bool {
        var isKnown = false
        pass.known.search(Array(bytes[range]), isCut: false, work: &pass.work) {
            isKnown = isKnown || $0.count == range.count
        }
        return isKnown
    }

    private mutating func number(_ range: Range<Int>) {
        if isKnown(range) { hideNumber(range) }
    }

    private mutating func hideNumber(_ range: Range<Int>) {
        switch pass.purpose {
        case .display: replace(range, with: Self.quotedMark)
        case .record: replace(range, with: [UInt8(ascii: "0")])
        }
    }

    private static let quotedMark = Array("\"\(Redaction.mark)\"".utf8)

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
            case .string, .number: pass.learn(Self.meaning(of: bytes[one.range]), isNamed: true)
            case .name, .word: break
            }
        } while depth > 0 && token < text.tokens.count
        let value = text.tokens[first..<token]
        if pass.purpose == .display, value.count > 2 {
            let end = text.tokens[token - 1].range.upperBound
            return replace(text.tokens[first].range.lowerBound..<end, with: Self.quotedMark)
        }
        for one in value where !one.range.isEmpty {
            switch one.kind {
            case .name: string(one.range)
            case .string: replace(one.range, with: RedactionPass.mark)
            case .number: hideNumber(one.range)
            default: break
            }
        }
    }

    // MARK: Spelling

    /// Returns the string without its escapes, or unchanged if one of the escapes is invalid.
    static func meaning(of literal: ArraySlice<UInt8>) -> [UInt8] {
        guard literal.contains(UInt8(ascii: "\\")) else { return Array(literal) }
        var text: [UInt8] = []
        text.reserveCapacity(literal.count)
        var place = literal.startIndex
        while place < literal.endIndex {
            guard literal[place] == UInt8(ascii: "\\") else {
                text.append(literal[place])
                place += 1
                continue
            }
            guard let (scalar, count) = escape(literal[place...]) else { return Array(literal) }
            text += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
            place += count
        }
        return text
    }

    // RFC 8259 §7.
    private static func escape(_ text: ArraySlice<UInt8>) -> (Unicode.Scalar, Int)? {
        switch text.dropFirst().first {
        case UInt8(ascii: "b"): return ("\u{8}", 2)
        case UInt8(ascii: "f"): return ("\u{C}", 2)
        case UInt8(ascii: "n"): return ("\n", 2)
        case UInt8(ascii: "r"): return ("\r", 2)
        case UInt8(ascii: "t"): return ("\t", 2)
        case UInt8(ascii: "u"):
            guard let high = unit(text) else { return nil }
            if let scalar = Unicode.Scalar(high) { return (scalar, 6) }
            guard high < 0xDC00, let low = unit(text.dropFirst(6)),
                (0xDC00..<0xE000).contains(low)
            else { return nil }
            let value = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
            return Unicode.Scalar(value).map { ($0, 12) }
        case let byte?: return (Unicode.Scalar(byte), 2)
        case nil: return nil
        }
    }

    private static func unit(_ text: ArraySlice<UInt8>) -> UInt32? {
        guard text.starts(with: "\\u".utf8) else { return nil }
        let digits = text.dropFirst(2).prefix(4)
        guard digits.count == 4 else { return nil }
        return digits.reduce(0 as UInt32?) { value, digit in
            guard let value, Grammar.isHexDigit(digit) else { return nil }
            let number = Grammar.isDigit(digit) ? digit &- 0x30 : Grammar.lowercased(digit) &- 0x57
            return value << 4 | UInt32(number)
        }
    }

    private static func literal(_ text: [UInt8]) -> [UInt8] {
        let quoted = JSONValue.string(String(decoding: text, as: UTF8.self)).jsonBytes()
        return Array(quoted.dropFirst().dropLast())
    }
}
