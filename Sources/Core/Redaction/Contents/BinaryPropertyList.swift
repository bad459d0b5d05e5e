// SPDX-License-Identifier: Apache-2.0

/// Redacts a binary property list (`bplist00`) object by object.
///
/// Objects refer to each other by number, and every object keeps its number. References are
/// therefore never expanded, and a list that refers to itself costs no more than any other list.
struct BinaryPropertyList {
    private enum Kind {
        case plain, integer, real, date, data, text, wideText, list, dictionary
    }

    private struct Object {
        let kind: Kind
        /// The whole object.
        let range: Range<Int>
        /// The bytes or the references that follow the marker.
        let content: Range<Int>
    }

    private let bytes: [UInt8]
    private let pass: RedactionPass
    private let referenceSize: Int
    private let top: Int
    private var objects: [Object] = []
    private var isHidden: [Bool] = []
    private var isName: [Bool] = []
    // Cached by object, because many references may lead to one object.
    private var meanings: [Int: Meaning] = [:]

    private struct Meaning {
        let isSecret: Bool
        let namesAnother: Bool
        let isValueOfAnother: Bool
    }

    static func isOne(_ content: [UInt8]) -> Bool { content.starts(with: "bplist0".utf8) }

    /// - Throws: ``Unreadable`` if the bytes are not a complete binary property list.
    static func redacted(_ bytes: [UInt8], in pass: RedactionPass) throws(Unreadable) -> [UInt8] {
        pass.work += 4 * bytes.count
        var list = try BinaryPropertyList(bytes, pass)
        try list.findSecrets()
        return list.written()
    }

    // MARK: Reading

    private init(_ bytes: [UInt8], _ pass: RedactionPass) throws(Unreadable) {
        self.bytes = bytes
        self.pass = pass
        guard bytes.count >= 41 else { throw Unreadable("it is cut off") }
        let trailer = bytes.count - 32
        let offsetSize = Int(bytes[trailer + 6])
        referenceSize = Int(bytes[trailer + 7])
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize),
            let count = Self.integer(bytes, trailer + 8, 8),
            let top = Self.integer(bytes, trailer + 16, 8),
            let table = Self.integer(bytes, trailer + 24, 8), count > 0, count <= bytes.count,
            top < count, table < trailer, count <= (trailer - table) / offsetSize
        else { throw Unreadable("its trailer is inconsistent") }
        self.top = top
        objects.reserveCapacity(count)
        for number in 0..<count {
            guard let offset = Self.integer(bytes, table + number * offsetSize, offsetSize),
                offset >= 8, offset < table
            else { throw Unreadable("it refers to an object that does not exist") }
            objects.append(try object(at: offset, end: table))
        }
        // If several numbers shared one place, the copy could be larger than the original.
        guard objects.reduce(0, { $0 + $1.range.count }) <= bytes.count else {
            throw Unreadable("its objects overlap")
        }
        isHidden = Array(repeating: false, count: count)
        isName = Array(repeating: false, count: count)
    }

    private func object(at offset: Int, end: Int) throws(Unreadable) -> Object {
        let kind = bytes[offset] >> 4
        let low = Int(bytes[offset] & 0xF)
        func made(_ kind: Kind, _ start: Int, _ count: Int) throws(Unreadable) -> Object {
            guard count >= 0, count <= end - start else {
                throw Unreadable("an object extends beyond its end")
            }
            return Object(
                kind: kind, range: offset..<(start + count), content: start..<(start + count))
        }
        switch kind {
        case 0x0 where [0, 8, 9, 15].contains(low): return try made(.plain, offset + 1, 0)
        case 0x1 where low <= 4: return try made(.integer, offset + 1, 1 << low)
        case 0x2 where low <= 3: return try made(.real, offset + 1, 1 << low)
        case 0x3: return try made(.date, offset + 1, 8)
        case 0x4, 0x5, 0x6, 0xA, 0xB, 0xC, 0xD:
            let (count, start) = try count(low, offset + 1, end)
            guard count <= bytes.count else { throw Unreadable("it is corrupt") }
            switch kind {
            case 0x4: return try made(.data, start, count)
            case 0x5: return try made(.text, start, count)
            case 0x6: return try made(.wideText, start, 2 * count)
            case 0xD: return try made(.dictionary, start, 2 * count * referenceSize)
            default: return try made(.list, start, count * referenceSize)
            }
        default: throw Unreadable("it has an object of an unknown kind")
        }
    }

    // If the marker has no room for the count, an integer object with the count follows it.
    private func count(_ low: Int, _ start: Int, _ end: Int) throws(Unreadable) -> (Int, Int) {
        if low < 0xF { return (low, start) }
        guard start < end, bytes[start] >> 4 == 1, bytes[start] & 0xF <= 3,
            let count = Self.integer(bytes, start + 1, 1 << Int(bytes[start] & 0xF))
        else { throw Unreadable("it is corrupt") }
        return (count, start + 1 + 1 << Int(bytes[start] & 0xF))
    }

    private static func integer(_ bytes: [UInt8], _ start: Int, _ width: Int) -> Int? {
        guard start >= 0, start + width <= bytes.count else { return nil }
        let value = bytes[start..<start + width].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Int(exactly: value)
    }

    private func references(_ range: Range<Int>) throws(Unreadable) -> [Int] {
        var references: [Int] = []
        references.reserveCapacity(range.count / referenceSize)
        for start in stride(from: range.lowerBound, to: range.upperBound, by: referenceSize) {
            guard let number = Self.integer(bytes, start, referenceSize), number < objects.count
            else { throw Unreadable("it refers to an object that does not exist") }
            references.append(number)
        }
        return references
    }

    // MARK: Secrets

    private mutating func findSecrets() throws(Unreadable) {
        var hidden: [Int] = []
        for object in objects where object.kind == .dictionary {
            let references = try references(object.content)
            let count = references.count / 2
            var namesSecret = false
            for (name, value) in zip(references[..<count], references[count...]) {
                isName[name] = true
                if try meaning(of: name).namesAnother, try meaning(of: value).isSecret {
                    namesSecret = true
                }
            }
            for (name, value) in zip(references[..<count], references[count...]) {
                let name = try meaning(of: name)
                if name.isSecret || (namesSecret && name.isValueOfAnother) { hidden.append(value) }
            }
        }
        while let number = hidden.popLast() {
            if isHidden[number] { continue }
            isHidden[number] = true
            let object = objects[number]
            switch object.kind {
            case .list: hidden += try references(object.content)
            case .dictionary:
                let references = try references(object.content)
                hidden += references.suffix(references.count / 2)
            default: break
            }
        }
    }

    private mutating func meaning(of number: Int) throws(Unreadable) -> Meaning {
        if let known = meanings[number] { return known }
        let text = text(of: objects[number])
        // A keyed archive stores names and values as separate objects, so names cannot be matched
        // here.
        if text.elementsEqual("$archiver".utf8) { throw Unreadable("it is an archive of objects") }
        let meaning = Meaning(
            isSecret: pass.redaction.hides(key: text[...]),
            namesAnother: SecretNames.namesAnother(text),
            isValueOfAnother: SecretNames.isValueOfAnother(text))
        meanings[number] = meaning
        return meaning
    }

    private func text(of object: Object) -> [UInt8] {
        switch object.kind {
        case .text: return Array(bytes[object.content])
        case .wideText:
            let units = stride(
                from: object.content.lowerBound, to: object.content.upperBound, by: 2
            )
            .map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
            return Array(String(decoding: units, as: UTF16.self).utf8)
        default: return []
        }
    }

    // MARK: Writing

    private func written() -> [UInt8] {
        var output = Array(bytes[..<8])
        var offsets: [Int] = []
        var isChanged = false
        for (number, object) in objects.enumerated() {
            offsets.append(output.count)
            if let other = replacement(of: object, number) {
                output += other
                isChanged = true
            } else {
                output += bytes[object.range]
            }
        }
        guard isChanged else { return bytes }
        let table = output.count
        let width = table < 1 << 8 ? 1 : table < 1 << 16 ? 2 : table < 1 << 32 ? 4 : 8
        for offset in offsets { Self.append(offset, width, to: &output) }
        output += [0, 0, 0, 0, 0, 0, UInt8(width), UInt8(referenceSize)]
        for value in [objects.count, top, table] { Self.append(value, 8, to: &output) }
        return output
    }

    private static func append(_ value: Int, _ width: Int, to bytes: inout [UInt8]) {
        for offset in (0..<width).reversed() {
            bytes.append(UInt8(truncatingIfNeeded: value >> (8 * offset)))
        }
    }

    // Returns another object of the same kind, or nil if the object stays as it is.
    private func replacement(of object: Object, _ number: Int) -> [UInt8]? {
        let content = bytes[object.content]
        switch object.kind {
        case .integer, .real, .date:
            guard isHidden[number] else { return nil }
            return [bytes[object.range.lowerBound]] + [UInt8](repeating: 0, count: content.count)
        case .data:
            if isHidden[number] { return Self.object(0x4, pass.hide(content)) }
            let shown = pass.content(Array(content), types: [], isCut: false)
            return shown.elementsEqual(content) ? nil : Self.object(0x4, shown)
        case .text, .wideText:
            let text = text(of: object)
            if text.isEmpty { return nil }
            // A text that is also used as a key stays, even if it is the value of a secret
            // elsewhere.
            if isHidden[number], !isName[number] { return Self.text(pass.hide(text)) }
            return pass.leaf(text).map(Self.text)
        case .plain, .list, .dictionary: return nil
        }
    }

    private static func text(_ text: [UInt8]) -> [UInt8] {
        if text.allSatisfy({ $0 < 0x80 }) { return object(0x5, text) }
        let units = String(decoding: text, as: UTF8.self).utf16
        return object(0x6, units.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }, units: 2)
    }

    private static func object(_ kind: UInt8, _ content: [UInt8], units: Int = 1) -> [UInt8] {
        let count = content.count / units
        if count < 0xF { return [kind << 4 | UInt8(count)] + content }
        var head: [UInt8] = [kind << 4 | 0xF, 0x13]
        append(count, 8, to: &head)
        return head + content
    }
}
