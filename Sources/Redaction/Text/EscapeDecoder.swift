// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// A text without some levels of escapes, and the position of each of its bytes in the source.
///
/// A URL in the query of a URL in a JSON string is escaped three times. Each level is searched as a
/// separate text, and found secrets are hidden in the source.
struct EscapeDecoder {
    let bytes: [UInt8]
    // In order, the positions whose byte does not follow the previous byte in the source.
    private let joints: [Joint]

    private struct Joint {
        let position: Int
        let source: Int
    }

    init(_ source: [UInt8]) {
        bytes = source
        joints = []
    }

    func source(of range: Range<Int>) -> Range<Int> {
        origin(of: range.lowerBound)..<origin(of: range.upperBound)
    }

    private func origin(of position: Int) -> Int {
        let next = firstJoint(behind: position)
        guard next > 0 else { return position }
        return joints[next - 1].source + position - joints[next - 1].position
    }

    private func firstJoint(behind position: Int) -> Int {
        var (low, high) = (0, joints.count)
        while low < high {
            let middle = (low + high) / 2
            if joints[middle].position > position { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// The maximum number of removed levels; words that are still escaped afterwards are hidden.
    static let maxLevels = 6

    // MARK: Other spellings

    /// Returns the text without one level of escapes (`%2F`, `\/`, `\u002f`, `&#47;`), or nil.
    func unescaped() -> EscapeDecoder? {
        var copy = Copy(of: self)
        var position = 0
        while true {
            position = Self.escapes.first(in: bytes, from: position)
            guard position < bytes.count else { break }
            guard let escape = Escape(bytes, at: position) else {
                position += 1
                continue
            }
            copy.replace(position..<(position + escape.count), with: escape)
            position += escape.count
        }
        return copy.finished()
    }

    /// Turns ASCII in UTF-16 into ASCII by removing the zero bytes; nil if there are no zero bytes.
    func withoutZeros() -> EscapeDecoder? { without(Prefilter.Kind.zero) { $0 == 0 } }

    /// Removes line breaks and the spaces after them, as in base64; nil if there are none.
    func withoutLineEnds() -> EscapeDecoder? {
        without(Prefilter.Kind.lineEnd) { $0 == 0x0A || $0 == 0x0D || Grammar.isBlank($0) }
    }

    private func without(_ kind: UInt8, and following: (UInt8) -> Bool) -> EscapeDecoder? {
        var copy = Copy(of: self)
        var position = 0
        while true {
            position = Prefilter.kinds.first(kind, in: bytes, from: position)
            guard position < bytes.count else { break }
            let start = position
            while position < bytes.count, following(bytes[position]) { position += 1 }
            copy.leaveOut(start..<position)
        }
        return copy.finished()
    }

    private struct Copy {
        private let original: EscapeDecoder
        private var text: [UInt8] = []
        private var joints: [Joint] = []
        private var copied = 0

        init(of original: EscapeDecoder) { self.original = original }

        mutating func leaveOut(_ range: Range<Int>) {
            keep(upTo: range.lowerBound)
            copied = range.upperBound
        }

        mutating func replace(_ range: Range<Int>, with escape: Escape) {
            leaveOut(range)
            let source = original.origin(of: range.lowerBound)
            let start = text.count
            escape.write(to: &text)
            for position in start..<text.count { join(position, source) }
        }

        private mutating func keep(upTo end: Int) {
            if text.isEmpty { text.reserveCapacity(original.bytes.count) }
            guard copied < end else { return }
            join(text.count, original.origin(of: copied))
            var next = original.firstJoint(behind: copied)
            while next < original.joints.count, original.joints[next].position < end {
                let joint = original.joints[next]
                join(text.count + joint.position - copied, joint.source)
                next += 1
            }
            text += original.bytes[copied..<end]
        }

        private mutating func join(_ position: Int, _ source: Int) {
            let last = joints.last ?? Joint(position: 0, source: 0)
            if last.source + position - last.position != source {
                joints.append(Joint(position: position, source: source))
            }
        }

        // Returns nil if nothing was left out.
        consuming func finished() -> EscapeDecoder? {
            if copied == 0 { return nil }
            let end = original.bytes.count
            keep(upTo: end)
            join(text.count, original.origin(of: end))
            return EscapeDecoder(text, joints)
        }
    }

    private init(_ bytes: [UInt8], _ joints: [Joint]) {
        self.bytes = bytes
        self.joints = joints
    }

    private static let escapes = ByteTable { beginsEscape($0) ? 1 : 0 }

    static func beginsEscape(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "%") || byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "&")
    }

    func hidePacked(in marks: inout SecretMarks) {
        var start = 0
        for end in 0...bytes.count where end == bytes.count || SecretScanner.isBoundary(bytes[end])
        {
            let word = bytes[start..<end]
            if word.contains(where: Self.beginsEscape) { marks.hide(source(of: start..<end)) }
            start = end + 1
        }
    }

    static func unescaped(_ bytes: [UInt8]) -> [UInt8]? { EscapeDecoder(bytes).unescaped()?.bytes }
}

/// One escape sequence of URLs, JSON, JavaScript, HTML or XML.
struct Escape {
    let count: Int
    private let scalar: Unicode.Scalar?
    private let byte: UInt8

    private var ascii: UInt8 { scalar.map { UInt8(truncatingIfNeeded: $0.value) } ?? byte }

    init?(_ bytes: [UInt8], at start: Int) {
        switch bytes[start] {
        case UInt8(ascii: "%"):
            if let byte = Self.hex(bytes, start + 1, 2) {
                self.init(3, byte: UInt8(byte))
            } else if start + 1 < bytes.count, bytes[start + 1] == UInt8(ascii: "u"),
                let value = Self.hex(bytes, start + 2, 4), let scalar = Unicode.Scalar(value)
            {
                self.init(6, scalar)
            } else {
                return nil
            }
        case UInt8(ascii: "\\"): self.init(backslash: bytes, start)
        case UInt8(ascii: "&"): self.init(entity: bytes, start)
        default: return nil
        }
    }

    private init(_ count: Int, _ scalar: Unicode.Scalar? = nil, byte: UInt8 = 0) {
        self.count = count
        self.scalar = scalar
        self.byte = byte
    }

    private init?(backslash bytes: [UInt8], _ start: Int) {
        guard start + 1 < bytes.count else { return nil }
        switch bytes[start + 1] {
        case UInt8(ascii: "/"), UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "\\"):
            self.init(2, byte: bytes[start + 1])
        case UInt8(ascii: "n"), UInt8(ascii: "r"): self.init(2, byte: 0x0A)
        case UInt8(ascii: "t"): self.init(2, byte: 0x09)
        case UInt8(ascii: "x"):
            guard let value = Self.hex(bytes, start + 2, 2) else { return nil }
            self.init(4, Unicode.Scalar(UInt8(value)))
        case UInt8(ascii: "u"): self.init(unicode: bytes, start)
        default: return nil
        }
    }

    private init?(unicode bytes: [UInt8], _ start: Int) {
        if start + 2 < bytes.count, bytes[start + 2] == UInt8(ascii: "{") {
            let digits = bytes[(start + 3)...].prefix(6).prefix(while: Grammar.isHexDigit).count
            guard digits > 0, start + 3 + digits < bytes.count,
                bytes[start + 3 + digits] == UInt8(ascii: "}"),
                let value = Self.hex(bytes, start + 3, digits), let scalar = Unicode.Scalar(value)
            else { return nil }
            self.init(digits + 4, scalar)
            return
        }
        guard let (scalar, count) = Self.utf16(bytes, start) else { return nil }
        self.init(count, scalar)
    }

    /// Returns the character of `\uXXXX`, or of two of them (RFC 8259 §7), and their length.
    static func utf16(_ bytes: [UInt8], _ start: Int) -> (Unicode.Scalar, Int)? {
        guard let high = hex(bytes, start + 2, 4) else { return nil }
        if let scalar = Unicode.Scalar(high) { return (scalar, 6) }
        guard high < 0xDC00, bytes[(start + 6)...].starts(with: "\\u".utf8),
            let low = hex(bytes, start + 8, 4), (0xDC00..<0xE000).contains(low)
        else { return nil }
        let value = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
        return Unicode.Scalar(value).map { ($0, 12) }
    }

    private init?(entity bytes: [UInt8], _ start: Int) {
        let name = bytes[(start + 1)...].prefix(12).prefix { $0 != UInt8(ascii: ";") }
        guard name.endIndex < bytes.count, bytes[name.endIndex] == UInt8(ascii: ";") else {
            return nil
        }
        let count = name.count + 2
        if name.first == UInt8(ascii: "#") {
            let digits = name.dropFirst()
            let isHex = digits.first.map(Grammar.lowercased) == UInt8(ascii: "x")
            let text = String(decoding: isHex ? digits.dropFirst() : digits, as: UTF8.self)
            guard let value = UInt32(text, radix: isHex ? 16 : 10),
                let scalar = Unicode.Scalar(value)
            else { return nil }
            self.init(count, scalar)
        } else if let byte = Self.entities[Array(name)] {
            self.init(count, byte: byte)
        } else {
            return nil
        }
    }

    private static let entities: [[UInt8]: UInt8] = Dictionary(
        uniqueKeysWithValues: [
            ("amp", "&"), ("lt", "<"), ("gt", ">"), ("quot", "\""), ("apos", "'"), ("sol", "/"),
            ("colon", ":"), ("commat", "@"), ("equals", "="), ("quest", "?"), ("num", "#"),
        ].map { (name: String, scalar: Unicode.Scalar) in (Array(name.utf8), UInt8(ascii: scalar)) }
    )

    private static func hex(_ bytes: [UInt8], _ start: Int, _ count: Int) -> UInt32? {
        guard start + count <= bytes.count else { return nil }
        var value: UInt32 = 0
        for place in start..<(start + count) {
            let byte = bytes[place]
            guard Grammar.isHexDigit(byte) else { return nil }
            let digit = Grammar.isDigit(byte) ? byte &- 0x30 : Grammar.lowercased(byte) &- 0x57
            value = value << 4 | UInt32(digit)
        }
        return value
    }

    func write(to bytes: inout [UInt8]) {
        guard let scalar, scalar.value >= 0x80 else { return bytes.append(ascii) }
        bytes += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
    }
}
