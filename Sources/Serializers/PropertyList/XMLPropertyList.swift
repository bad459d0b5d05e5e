// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// Reads an XML property list that ``PropertyListGuard`` has checked.
struct XMLPropertyList {
    private enum Tag: Equatable {
        case start(String)
        case empty(String)
        case end(String)
    }

    private let bytes: [UInt8]
    private var position = 0

    init(_ content: Data) throws {
        let declaration = String(decoding: content.prefix(200), as: UTF8.self)
        let label = declaration.firstMatch(of: /^\s*<\?xml[^>]*encoding\s*=\s*["']([^"']*)["']/)?.1
        let mark = Charset.byteOrderMark(of: content)
        guard let charset = mark?.0 ?? Charset(label: label.map(String.init) ?? "utf-8"),
            let text = charset.decode(content.dropFirst(mark?.1 ?? 0))
        else { throw PropertyListGuard.fault("is not text in its encoding") }
        bytes = Array(text.utf8)
    }

    mutating func value() throws -> PropertyListValue {
        var tag = try nextTag()
        let hasRoot = tag == .start("plist")
        if hasRoot { tag = try nextTag() }
        let value = try value(of: tag)
        if hasRoot { try expect(.end("plist")) }
        return value
    }

    private mutating func value(of tag: Tag) throws -> PropertyListValue {
        switch tag {
        case .empty("true"): return .bool(true)
        case .empty("false"): return .bool(false)
        case .empty("string"): return .string("")
        case .empty("data"): return .data(Data())
        case .empty("array"): return .array([])
        case .empty("dict"): return .dictionary([:])
        case .start("array"):
            var elements: [PropertyListValue] = []
            while case let next = try nextTag(), next != .end("array") {
                elements.append(try value(of: next))
            }
            return .array(elements)
        case .start("dict"):
            var members: [String: PropertyListValue] = [:]
            while case let next = try nextTag(), next != .end("dict") {
                guard next == .start("key") || next == .empty("key") else {
                    throw PropertyListGuard.fault("has a value without a key")
                }
                let key = next == .empty("key") ? "" : try text(until: "key")
                members[key] = try value(of: try nextTag())
            }
            return .dictionary(members)
        case .start(let name): return try scalar(name, try text(until: name))
        case .empty, .end: throw PropertyListGuard.fault("has a tag that is not expected")
        }
    }

    private func scalar(_ name: String, _ text: String) throws -> PropertyListValue {
        let bare = String(text.filter { !$0.isWhitespace })
        let value: PropertyListValue? =
            switch name {
            case "true" where bare.isEmpty: .bool(true)
            case "false" where bare.isEmpty: .bool(false)
            case "string": .string(text)
            case "integer": integer(bare)
            case "real": Double(bare).map { .real($0) }
            case "date": (try? Date(bare, strategy: .iso8601)).map { .date($0) }
            case "data":
                Data(base64Encoded: bare).map { .data($0) }
            default: nil
            }
        guard let value else { throw PropertyListGuard.fault("has an invalid value") }
        return value
    }

    private func integer(_ text: String) -> PropertyListValue? {
        var digits = text[...]
        let sign = digits.first == "-" || digits.first == "+" ? String(digits.removeFirst()) : ""
        let isHexadecimal = digits.lowercased().hasPrefix("0x")
        if isHexadecimal { digits = digits.dropFirst(2) }
        guard let first = digits.utf8.first, Grammar.isHexDigit(first) else { return nil }
        let radix = isHexadecimal ? 16 : 10
        if let value = Int64(sign + digits, radix: radix) { return .integer(value) }
        return UInt64(sign + digits, radix: radix).map { .unsigned($0) }
    }

    // MARK: Markup

    private mutating func expect(_ tag: Tag) throws {
        guard try nextTag() == tag else { throw PropertyListGuard.fault("is cut off") }
    }

    // Skips text between values: blanks, comments, the declaration and the document type.
    private mutating func nextTag() throws -> Tag {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            case UInt8(ascii: "<") where try !skipsMarkup(): return try tag()
            case UInt8(ascii: "<"): break
            default: throw PropertyListGuard.fault("has text between its values")
            }
        }
        throw PropertyListGuard.fault("is cut off")
    }

    private mutating func skipsMarkup() throws -> Bool {
        guard position + 1 < bytes.count else { return false }
        switch bytes[position + 1] {
        case UInt8(ascii: "?"):
            position = PropertyListGuard.skip(past: "?>", bytes, position + 2)
        case UInt8(ascii: "!") where !bytes[position...].starts(with: "<![CDATA[".utf8):
            position = try PropertyListGuard.skipMarkup(bytes, position + 1)
        default: return false
        }
        return true
    }

    private mutating func tag() throws -> Tag {
        let end = PropertyListGuard.skip(past: ">", bytes, position)
        guard bytes[end - 1] == UInt8(ascii: ">") else {
            throw PropertyListGuard.fault("is cut off")
        }
        let inner = bytes[position + 1..<end - 1]
        position = end
        let isEnd = inner.first == UInt8(ascii: "/")
        let name = inner.drop { $0 == UInt8(ascii: "/") }.prefix {
            Grammar.isAlphanumeric($0)
        }
        let text = String(decoding: name, as: UTF8.self)
        if isEnd { return .end(text) }
        return inner.last == UInt8(ascii: "/") ? .empty(text) : .start(text)
    }

    private mutating func text(until name: String) throws -> String {
        var text: [UInt8] = []
        while position < bytes.count {
            let rest = bytes[position...]
            switch bytes[position] {
            case UInt8(ascii: "<") where rest.starts(with: "<![CDATA[".utf8):
                let end = PropertyListGuard.skip(past: "]]>", bytes, position)
                guard end - 3 >= position + 9 else { throw PropertyListGuard.fault("is cut off") }
                text += bytes[position + 9..<end - 3]
                position = end
            case UInt8(ascii: "<") where try skipsMarkup(): break
            case UInt8(ascii: "<"):
                try expect(.end(name))
                return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "&"):
                guard let end = rest.prefix(12).firstIndex(of: UInt8(ascii: ";")),
                    let scalar = Self.scalar(
                        String(decoding: rest[position + 1..<end], as: UTF8.self))
                else { throw PropertyListGuard.fault("has an unknown reference") }
                text += Array(String(Character(scalar)).utf8)
                position = end + 1
            default:
                let run = rest.prefix { $0 != UInt8(ascii: "<") && $0 != UInt8(ascii: "&") }
                text += run
                position = run.endIndex
            }
        }
        throw PropertyListGuard.fault("is cut off")
    }

    private static func scalar(_ reference: String) -> Unicode.Scalar? {
        let named =
            ["lt": "<", "gt": ">", "amp": "&", "quot": "\"", "apos": "'"]
            as [String: Unicode.Scalar]
        if let scalar = named[reference] { return scalar }
        guard reference.hasPrefix("#") else { return nil }
        let digits = reference.dropFirst()
        let value =
            digits.hasPrefix("x") ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
        return value.flatMap(Unicode.Scalar.init)
    }
}
