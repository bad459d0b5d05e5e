// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// The tokens of one or more JSON texts (RFC 8259), read strictly up to the end or the first fault.
///
/// A redactor needs the positions of the tokens, which ``JSONParser`` drops, and must accept
/// truncated texts, several texts in a row, and any depth of nesting.
struct JSONTokens {
    enum Kind: UInt8 {
        case beginObject, endObject, beginArray, endArray, name, string, number, word
    }

    struct Token {
        let kind: Kind
        /// The position in the text; for a name or a string, without the quotes.
        let range: Range<Int>
        /// The object's index in `objects` if a token starts an object or is a name; otherwise 0.
        let object: Int32
    }

    enum End: Equatable {
        case finished
        case cut
        case broken(at: Int, String)
    }

    private(set) var tokens: [Token] = []
    private(set) var end = End.finished
    private(set) var objects: [JSONObjectTraits] = []

    private enum Expected {
        case value, nameOrEnd, name, colon, commaOrEnd, valueOrEnd
    }

    private let bytes: [UInt8]
    private let rules: SecretRules
    private var position = 0
    // The enclosing objects and arrays; nil stands for an array.
    private var stack: [Int32?] = []
    private var told = JSONObjectTraits.Telling.nothing

    init(_ bytes: [UInt8], _ rules: SecretRules) {
        self.bytes = bytes
        self.rules = rules
        do {
            try read()
        } catch {
            end = error
            for case let object? in stack { objects[Int(object)].doubt() }
        }
    }

    private mutating func read() throws(End) {
        var expected = Expected.value
        while let byte = next() {
            expected = try read(byte, expected)
        }
        if !stack.isEmpty { throw .cut }
    }

    // Skips whitespace, and the record separator of a JSON text sequence (RFC 7464).
    private mutating func next() -> UInt8? {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            case 0x1E where stack.isEmpty: position += 1
            default: return bytes[position]
            }
        }
        return nil
    }

    private mutating func read(_ byte: UInt8, _ expected: Expected) throws(End) -> Expected {
        switch (expected, byte) {
        case (.value, _): return try value(byte)
        case (.valueOrEnd, UInt8(ascii: "]")): return close(.endArray)
        case (.valueOrEnd, _): return try value(byte)
        case (.nameOrEnd, UInt8(ascii: "}")): return close(.endObject)
        case (.nameOrEnd, UInt8(ascii: "\"")), (.name, UInt8(ascii: "\"")):
            let name = try string()
            let object = (stack.last ?? nil) ?? 0
            told = JSONObjectTraits.telling(JSONRedactor.meaning(of: bytes[name]))
            objects[Int(object)].note(told)
            tokens.append(Token(kind: .name, range: name, object: object))
            return .colon
        case (.colon, UInt8(ascii: ":")):
            position += 1
            return .value
        case (.commaOrEnd, UInt8(ascii: ",")):
            position += 1
            return stack.last == .some(nil) ? .value : .name
        case (.commaOrEnd, UInt8(ascii: "]")) where stack.last == .some(nil):
            return close(.endArray)
        case (.commaOrEnd, UInt8(ascii: "}")) where stack.last != .some(nil):
            return close(.endObject)
        default: throw .broken(at: position, Self.fault(expected))
        }
    }

    private static func fault(_ expected: Expected) -> String {
        switch expected {
        case .value, .valueOrEnd: "a value is expected"
        case .name, .nameOrEnd: "a name is expected"
        case .colon: "a colon is expected"
        case .commaOrEnd: "a comma is expected"
        }
    }

    private mutating func close(_ kind: Kind) -> Expected {
        add(kind, position..<position + 1)
        position += 1
        stack.removeLast()
        return behindValue
    }

    private var behindValue: Expected { stack.isEmpty ? .value : .commaOrEnd }

    private mutating func add(_ kind: Kind, _ range: Range<Int>, object: Int32 = 0) {
        tokens.append(Token(kind: kind, range: range, object: object))
    }

    private mutating func value(_ byte: UInt8) throws(End) -> Expected {
        let told = told
        self.told = .nothing
        switch byte {
        case UInt8(ascii: "{"):
            let object = Int32(objects.count)
            objects.append(JSONObjectTraits(list: listObject))
            add(.beginObject, position..<position + 1, object: object)
            stack.append(object)
            position += 1
            return .nameOrEnd
        case UInt8(ascii: "["):
            add(.beginArray, position..<position + 1)
            stack.append(nil)
            position += 1
            return .valueOrEnd
        case UInt8(ascii: "\""):
            let text = try string()
            if told != .nothing, case let object?? = stack.last {
                objects[Int(object)].note(told, text: bytes[text], rules)
            }
            add(.string, text)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number()
        default: try word()
        }
        return behindValue
    }

    // The object that has the enclosing array as a member.
    private var listObject: Int32? {
        guard stack.count >= 2, case .some(nil) = stack.last else { return nil }
        return stack[stack.count - 2]
    }

    // MARK: Leaves

    private mutating func string() throws(End) -> Range<Int> {
        let start = position + 1
        var place = start
        while true {
            place = Self.endsRun.first(in: bytes, from: place)
            guard place < bytes.count else { throw .cut }
            switch bytes[place] {
            case UInt8(ascii: "\""):
                position = place + 1
                return start..<place
            case UInt8(ascii: "\\"): place = try escape(place)
            default: throw .broken(at: place, "a string contains a control character")
            }
        }
    }

    private static let endsRun = ByteTable { byte in
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") ? 1 : 0
    }

    private func escape(_ start: Int) throws(End) -> Int {
        guard start + 1 < bytes.count else { throw .cut }
        switch bytes[start + 1] {
        case UInt8(ascii: "u"):
            let digits = bytes[(start + 2)...].prefix(4)
            guard digits.allSatisfy(Grammar.isHexDigit) else { break }
            guard digits.count == 4 else { throw .cut }
            return start + 6
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
            UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return start + 2
        default: break
        }
        throw .broken(at: start, "an escape is invalid")
    }

    // Accepts more than the grammar allows; for example, a malformed number counts as a number.
    private mutating func number() throws(End) {
        let start = position
        while position < bytes.count, Self.isOfNumber(bytes[position]) { position += 1 }
        if position == bytes.count, !stack.isEmpty { throw .cut }
        guard bytes[start..<position].contains(where: Grammar.isDigit) else {
            throw .broken(at: start, "a number is invalid")
        }
        add(.number, start..<position)
    }

    private static func isOfNumber(_ byte: UInt8) -> Bool {
        Grammar.isDigit(byte) || "+-.eE".utf8.contains(byte)
    }

    private mutating func word() throws(End) {
        let start = position
        for word in ["true", "false", "null"] {
            let rest = bytes[start...].prefix(word.utf8.count)
            if rest.elementsEqual(word.utf8) {
                position = start + word.utf8.count
                return add(.word, start..<position)
            }
            if start + rest.count == bytes.count, word.utf8.starts(with: rest) { throw .cut }
        }
        throw .broken(at: start, "a value is expected")
    }
}

extension JSONTokens.End: Error {}
