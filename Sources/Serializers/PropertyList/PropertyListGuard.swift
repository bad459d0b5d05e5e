// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// Refuses input that Foundation's property list readers cannot handle safely.
///
/// Foundation's XML reader recurses once for each level, and can overflow the stack. Foundation's
/// binary reader expands shared references: 150 bytes can become 10⁹ values, and 100 kB can become
/// as many strings of 50 kB each. The time of the check is linear in the size of the input.
enum PropertyListGuard {
    static let maxDepth = 256
    /// The maximum ratio of the expanded size to the input size, as in `Limits` for coded content.
    static let maxRatio = 100
    /// The expanded size that is always allowed, because small lists may exceed the ratio.
    static let freeBytes = 1 << 20
    /// The cost of each value in bytes, in addition to the bytes of strings and data.
    static let valueBytes = 16
    /// The maximum number of characters of a date; a usual date has 20.
    static let maxDateBytes = 32

    static func check(_ content: Data) throws {
        if content.starts(with: Array("bplist00".utf8)) {
            var list = try BinaryPropertyList(content)
            return try list.check()
        }
        let start = content.drop { $0 <= 0x20 || $0 == 0xEF || $0 == 0xBB || $0 == 0xBF }
        guard start.first == UInt8(ascii: "<") else {
            throw fault("is neither XML nor binary")
        }
        try checkXML(Array(start))
    }

    static func fault(_ reason: String) -> ClientError {
        ClientError(.serialization, "the property list \(reason)")
    }

    // This scan must find the end of each construct at the same position as Foundation. If
    // Foundation might find another position, the text is refused.
    private static func checkXML(_ bytes: [UInt8]) throws {
        // A zero byte means UTF-16, because XML has no zero character.
        if bytes.contains(0) { throw fault("is in an unsupported encoding") }
        try checkEncoding(bytes)
        var depth = 0
        var position = 0
        while let open = bytes[position...].firstIndex(of: UInt8(ascii: "<")) {
            position = open + 1
            guard position < bytes.count else { return }
            switch bytes[position] {
            case UInt8(ascii: "/"):
                depth -= 1
                if depth < 0 { throw fault("has an end tag without a start tag") }
                position = skip(past: ">", bytes, position)
            case UInt8(ascii: "?"): position = skip(past: "?>", bytes, position + 1)
            case UInt8(ascii: "!"): position = try skipMarkup(bytes, position)
            default:
                let end = skip(past: ">", bytes, position)
                let closesItself = end >= 2 && bytes[end - 2] == UInt8(ascii: "/")
                if !closesItself { depth += 1 }
                if depth > maxDepth { throw fault("nests deeper than \(maxDepth)") }
                if bytes[position...].starts(with: "date".utf8) { try checkDate(bytes[end...]) }
                position = end
            }
        }
    }

    // Foundation's reader ends the process at some years of 19 digits.
    private static func checkDate(_ rest: ArraySlice<UInt8>) throws {
        let text = rest.prefix { $0 != UInt8(ascii: "<") }
        if text.count(where: { $0 > 0x20 }) > maxDateBytes { throw fault("has an invalid date") }
    }

    /// Skips a comment, CDATA, or a document type without an internal subset (`<!…`).
    static func skipMarkup(_ bytes: [UInt8], _ position: Int) throws -> Int {
        let rest = bytes[position...]
        if rest.starts(with: "!--".utf8) {
            let inner = rest.dropFirst(3)
            if inner.starts(with: ">".utf8) || inner.starts(with: "->".utf8) {
                throw fault("has an invalid comment")
            }
            return skip(past: "-->", bytes, inner.startIndex)
        }
        if rest.starts(with: "![CDATA[".utf8) { return skip(past: "]]>", bytes, position) }
        let end = skip(past: ">", bytes, position)
        let inner = bytes[position..<end]
        let quotes = inner.filter { $0 == UInt8(ascii: "\"") }.count
        guard rest.starts(with: "!DOCTYPE".utf8), quotes % 2 == 0,
            !inner.contains(where: { $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: "[") }),
            quotes > 0 || !inner.contains(UInt8(ascii: "'"))
        else { throw fault("has declarations, which are not supported") }
        return end
    }

    // Foundation decodes the content in the declared encoding. The scan works only for encodings in
    // which ASCII bytes mean ASCII characters.
    private static func checkEncoding(_ bytes: [UInt8]) throws {
        guard bytes.starts(with: "<?xml".utf8) else { return }
        let end = skip(past: "?>", bytes, 2)
        // The scan does not read the declaration, and a declaration of more than 200 bytes is
        // refused.
        guard end <= 200 else { throw fault("has a declaration of more than 200 bytes") }
        let declaration = String(decoding: bytes[..<end], as: UTF8.self)
        let names = declaration.matches(of: /encoding\s*=\s*["']([^"']*)["']/)
            .map { $0.1.lowercased() }
        guard names.count == declaration.ranges(of: "encoding").count,
            names.allSatisfy(isASCII)
        else { throw fault("is in an unsupported encoding") }
    }

    private static func isASCII(_ name: String) -> Bool {
        ["utf-8", "utf8", "us-ascii", "ascii"].contains(name) || name.hasPrefix("iso-8859-")
            || name.hasPrefix("windows-125")
    }

    static func skip(past mark: String, _ bytes: [UInt8], _ start: Int) -> Int {
        let mark = Array(mark.utf8)
        var position = start
        while position + mark.count <= bytes.count {
            if bytes[position] == mark[0],
                bytes[position..<position + mark.count].elementsEqual(mark)
            {
                return position + mark.count
            }
            position += 1
        }
        return bytes.count
    }
}

struct BinaryPropertyList {
    private let bytes: [UInt8]
    private let offsetSize: Int
    private let referenceSize: Int
    private let objectCount: Int
    private let top: Int
    private let table: Int
    private let limit: Int
    // The expanded size of each object in bytes, or 0 during the visit of the object.
    private var sizes: [Int: Int] = [:]

    init(_ content: Data) throws {
        bytes = Array(content)
        guard bytes.count >= 40 else { throw PropertyListGuard.fault("is cut off") }
        let trailer = bytes.count - 32
        offsetSize = Int(bytes[trailer + 6])
        referenceSize = Int(bytes[trailer + 7])
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize),
            let objectCount = Self.integer(bytes, trailer + 8, 8),
            let top = Self.integer(bytes, trailer + 16, 8),
            let table = Self.integer(bytes, trailer + 24, 8),
            objectCount > 0, objectCount <= bytes.count, top < objectCount, table < trailer,
            table + objectCount * offsetSize <= trailer
        else { throw PropertyListGuard.fault("has an inconsistent trailer") }
        self.objectCount = objectCount
        self.top = top
        self.table = table
        limit = PropertyListGuard.freeBytes + bytes.count * PropertyListGuard.maxRatio
    }

    mutating func check() throws { _ = try size(of: top, depth: 0) }

    /// Returns the value of the list, and may be called only after `check` has succeeded.
    func value() throws -> PropertyListValue { try value(of: top) }

    private func value(of object: Int) throws -> PropertyListValue {
        let offset = try offset(of: object)
        let (kind, size) = (bytes[offset] >> 4, bytes[offset] & 0xF)
        switch kind {
        case 0x0 where size == 8 || size == 9: return .bool(size == 9)
        case 0x1 where size <= 4:
            // For 16 bytes, the value is the lower half; only integers of eight bytes have a sign.
            let start = size == 4 ? offset + 9 : offset + 1
            let bits = try word(at: start, size == 4 ? 8 : 1 << Int(size))
            if size == 4, bits > Int64.max { return .unsigned(bits) }
            return .integer(Int64(bitPattern: bits))
        case 0x2 where size == 2:
            return .real(Double(Float(bitPattern: UInt32(try word(at: offset + 1, 4)))))
        case 0x2 where size == 3: return .real(Double(bitPattern: try word(at: offset + 1, 8)))
        case 0x3 where size == 3:
            let seconds = Double(bitPattern: try word(at: offset + 1, 8))
            return .date(Date(timeIntervalSinceReferenceDate: seconds))
        case 0x4...0x6:
            let content = bytes[try textRange(at: offset)]
            if kind == 0x4 { return .data(Data(content)) }
            let text =
                kind == 0x5
                ? String(validating: content, as: Unicode.ASCII.self)
                : String(data: Data(content), encoding: .utf16BigEndian)
            if let text { return .string(text) }
        case 0xA: return .array(try children(at: offset).map(value))
        case 0xD:
            let children = try children(at: offset)
            var members: [String: PropertyListValue] = [:]
            for (key, child) in zip(children, children.dropFirst(children.count / 2)) {
                guard case .string(let name) = try value(of: key) else {
                    throw PropertyListGuard.fault("has a key that is not a string")
                }
                members[name] = try value(of: child)
            }
            return .dictionary(members)
        default: break
        }
        throw PropertyListGuard.fault("contains an object that is not a property list value")
    }

    private func word(at start: Int, _ width: Int) throws -> UInt64 {
        guard start + width <= table else { throw PropertyListGuard.fault("is corrupt") }
        return bytes[start..<start + width].reduce(0) { $0 << 8 | UInt64($1) }
    }

    private func offset(of object: Int) throws -> Int {
        guard object < objectCount,
            let offset = Self.integer(bytes, table + object * offsetSize, offsetSize),
            offset < table
        else { throw PropertyListGuard.fault("refers to an object that does not exist") }
        return offset
    }

    private mutating func size(of object: Int, depth: Int) throws -> Int {
        if let known = sizes[object] {
            if known == 0 { throw PropertyListGuard.fault("refers to itself") }
            return known
        }
        guard depth <= PropertyListGuard.maxDepth else {
            throw PropertyListGuard.fault("nests deeper than \(PropertyListGuard.maxDepth)")
        }
        let offset = try offset(of: object)
        sizes[object] = 0
        var total = PropertyListGuard.valueBytes + (try textBytes(at: offset))
        for child in try children(at: offset) {
            total += try size(of: child, depth: depth + 1)
            if total > limit {
                throw PropertyListGuard.fault(
                    "expands to more than \(PropertyListGuard.maxRatio) times its size")
            }
        }
        sizes[object] = total
        return total
    }

    // The number of bytes of data or of a string, without the marker.
    private func textBytes(at offset: Int) throws -> Int {
        let kind = bytes[offset] >> 4
        guard (0x4...0x6).contains(kind) else { return 0 }
        let count = try textRange(at: offset).count
        // One 16-bit unit of a string may become three bytes of UTF-8.
        return kind == 0x6 ? count / 2 * 3 : count
    }

    // Foundation's reader ends the process if the reader reads beyond the content, or returns bytes
    // of the offset table as text.
    private func textRange(at offset: Int) throws -> Range<Int> {
        let (start, count) = try extent(at: offset)
        let width = bytes[offset] >> 4 == 0x6 ? 2 : 1
        guard count <= table, start + count * width <= table else {
            throw PropertyListGuard.fault("is corrupt")
        }
        return start..<start + count * width
    }

    // The numbers are read one at a time. Nested collections may share their bytes, and a list of
    // 1 MB could take gigabytes.
    private func children(at offset: Int) throws -> LazyMapCollection<Range<Int>, Int> {
        let kind = bytes[offset] >> 4
        // The format has more kinds of objects than a property list. Foundation reads sets as
        // values that crash the bridge to Swift.
        if [0x7, 0x9, 0xB, 0xC, 0xE, 0xF].contains(kind) {
            throw PropertyListGuard.fault("contains an object that is not a property list value")
        }
        if bytes[offset] == 0x14 { try checkLong(at: offset + 1) }
        let (start, count) = kind >= 0xA ? try extent(at: offset) : (offset, 0)
        let references = kind == 0xD ? 2 : 1
        guard count <= bytes.count / references,
            start + count * references * referenceSize <= table
        else { throw PropertyListGuard.fault("has a collection that extends beyond its end") }
        return (0..<count * references).lazy.map { [bytes, referenceSize] index in
            Self.integer(bytes, start + index * referenceSize, referenceSize) ?? .max
        }
    }

    private func extent(at offset: Int) throws -> (start: Int, count: Int) {
        let count = Int(bytes[offset] & 0xF)
        let start = offset + 1
        if count < 0xF { return (start, count) }
        guard start < table, bytes[start] >> 4 == 1 else {
            throw PropertyListGuard.fault("is corrupt")
        }
        let width = 1 << Int(bytes[start] & 0xF)
        guard width <= 8, let long = Self.integer(bytes, start + 1, width) else {
            throw PropertyListGuard.fault("is corrupt")
        }
        return (start + 1 + width, long)
    }

    // Checks an integer of 16 bytes. Foundation writes such integers only for values above
    // `Int64.max`. Foundation would clamp values above 64 bits, and misread negative values.
    private func checkLong(at start: Int) throws {
        guard start + 16 <= table else { throw PropertyListGuard.fault("is corrupt") }
        guard bytes[start..<start + 8].allSatisfy({ $0 == 0 }) else {
            throw PropertyListGuard.fault("contains an integer that does not fit 64 bits")
        }
    }

    private static func integer(_ bytes: [UInt8], _ start: Int, _ width: Int) -> Int? {
        guard start >= 0, start + width <= bytes.count else { return nil }
        let value = bytes[start..<start + width].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Int(exactly: value)
    }
}

extension PropertyListGuard {
    /// Refuses characters that XML forbids (XML 1.0 §2.2), but that Foundation writes.
    static func checkWritten(_ content: Data) throws {
        let isIllegal = unsafe content.withUnsafeBytes { bytes in
            bytes.indices.contains { index in
                let byte = unsafe bytes[index]
                if byte < 0x20 { return byte != 0x09 && byte != 0x0A && byte != 0x0D }
                // The noncharacters U+FFFE and U+FFFF begin with this byte in UTF-8.
                guard byte == 0xEF, index + 2 < bytes.count else { return false }
                return unsafe bytes[index + 1] == 0xBF && bytes[index + 2] >= 0xBE
            }
        }
        if isIllegal {
            throw ClientError(
                .serialization,
                "a string has a control character, which an XML property list cannot hold;"
                    + " remove it, or send the binary format")
        }
    }
}
