import Foundation
import TurnpikeCore

/// What Foundation's readers of property lists must not be given.
///
/// Its XML reader recurses once for each level and overflows the stack; its binary reader expands
/// shared references, so that 150 bytes become 10⁹ values, and 100 kB as many texts of 50 kB each.
/// Both are refused here, in time linear in the input.
enum PropertyListGuard {
    static let maxDepth = 256
    /// How many times its size a binary list may become, as coded content may (`Limits`).
    static let maxRatio = 100
    /// What a small one may become in any case.
    static let freeBytes = 1 << 20
    /// What a value counts as, besides the bytes of a text or of data.
    static let valueBytes = 16

    static func check(_ content: Data) throws {
        if content.starts(with: Array("bplist00".utf8)) {
            var check = try BinaryCheck(content)
            return try check.run()
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

    // A look at the text that reads less, or more, than Foundation does is none: where the two
    // could see an end at different places, the text is refused.
    private static func checkXML(_ bytes: [UInt8]) throws {
        // No character of XML: the bytes would be those of UTF-16.
        if bytes.contains(0) { throw fault("is in an encoding that is not read") }
        try checkEncoding(bytes)
        var depth = 0
        var position = 0
        while let open = bytes[position...].firstIndex(of: UInt8(ascii: "<")) {
            position = open + 1
            guard position < bytes.count else { return }
            switch bytes[position] {
            case UInt8(ascii: "/"):
                depth -= 1
                if depth < 0 { throw fault("ends an element that did not begin") }
                position = skip(past: ">", bytes, position)
            case UInt8(ascii: "?"): position = skip(past: "?>", bytes, position + 1)
            case UInt8(ascii: "!"): position = try skipMarkup(bytes, position)
            default:
                let end = skip(past: ">", bytes, position)
                let closesItself = end >= 2 && bytes[end - 2] == UInt8(ascii: "/")
                if !closesItself { depth += 1 }
                if depth > maxDepth { throw fault("nests deeper than \(maxDepth)") }
                position = end
            }
        }
    }

    /// Skips what begins with `<!`: a comment, CDATA, or a document type without an inner part.
    private static func skipMarkup(_ bytes: [UInt8], _ position: Int) throws -> Int {
        let rest = bytes[position...]
        if rest.starts(with: "!--".utf8) {
            let inner = rest.dropFirst(3)
            if inner.starts(with: ">".utf8) || inner.starts(with: "->".utf8) {
                throw fault("has a comment that is none")
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
        else { throw fault("has declarations, which are not read") }
        return end
    }

    // Foundation reads the content in the encoding that it declares: only those in which ASCII
    // stands for itself can be looked at.
    private static func checkEncoding(_ bytes: [UInt8]) throws {
        guard bytes.starts(with: "<?xml".utf8) else { return }
        let end = skip(past: "?>", bytes, 2)
        // All that it may hold is short, and what is not looked at would be read all the same.
        guard end <= 200 else { throw fault("has a declaration of more than 200 bytes") }
        let declaration = String(decoding: bytes[..<end], as: UTF8.self)
        let names = declaration.matches(of: /encoding\s*=\s*["']([^"']*)["']/)
            .map { $0.1.lowercased() }
        guard names.count == declaration.ranges(of: "encoding").count,
            names.allSatisfy(isASCII)
        else { throw fault("is in an encoding that is not read") }
    }

    private static func isASCII(_ name: String) -> Bool {
        ["utf-8", "utf8", "us-ascii", "ascii"].contains(name) || name.hasPrefix("iso-8859-")
            || name.hasPrefix("windows-125")
    }

    private static func skip(past mark: String, _ bytes: [UInt8], _ start: Int) -> Int {
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

/// Walks the object table of a binary property list without building anything.
private struct BinaryCheck {
    private let bytes: [UInt8]
    private let offsetSize: Int
    private let referenceSize: Int
    private let objectCount: Int
    private let top: Int
    private let table: Int
    private let limit: Int
    // The bytes that an object expands to; 0 while it is being visited.
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
        else { throw PropertyListGuard.fault("has a trailer that does not fit it") }
        self.objectCount = objectCount
        self.top = top
        self.table = table
        limit = PropertyListGuard.freeBytes + bytes.count * PropertyListGuard.maxRatio
    }

    mutating func run() throws { _ = try size(of: top, depth: 0) }

    private mutating func size(of object: Int, depth: Int) throws -> Int {
        if let known = sizes[object] {
            if known == 0 { throw PropertyListGuard.fault("refers to itself") }
            return known
        }
        guard depth <= PropertyListGuard.maxDepth else {
            throw PropertyListGuard.fault("nests deeper than \(PropertyListGuard.maxDepth)")
        }
        guard object < objectCount,
            let offset = Self.integer(bytes, table + object * offsetSize, offsetSize),
            offset < table
        else { throw PropertyListGuard.fault("refers to what it does not hold") }
        sizes[object] = 0
        var total = PropertyListGuard.valueBytes + textBytes(at: offset)
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

    // What data, or a text, holds besides its mark; a length that does not fit is Foundation's to
    // refuse.
    private func textBytes(at offset: Int) -> Int {
        let kind = bytes[offset] >> 4
        guard (0x4...0x6).contains(kind) else { return 0 }
        var count = Int(bytes[offset] & 0xF)
        if count == 0xF, offset + 1 < table {
            let width = 1 << Int(bytes[offset + 1] & 0xF)
            count = width <= 8 ? Self.integer(bytes, offset + 2, width) ?? 0 : 0
        }
        // A text of 16 bits may become one of three bytes for each.
        return min(count, bytes.count) * (kind == 0x6 ? 3 : 1)
    }

    private func children(at offset: Int) throws -> [Int] {
        let kind = bytes[offset] >> 4
        // The format has more kinds than a property list: Foundation reads sets into what its
        // bridge to Swift cannot take, and the process ends.
        if [0x7, 0x9, 0xB, 0xC, 0xE, 0xF].contains(kind) {
            throw PropertyListGuard.fault("holds what is no value of a property list")
        }
        if bytes[offset] == 0x14 { try checkLong(at: offset + 1) }
        guard kind >= 0xA else { return [] }
        var count = Int(bytes[offset] & 0xF)
        var start = offset + 1
        if count == 0xF {
            guard start < table, bytes[start] >> 4 == 1 else {
                throw PropertyListGuard.fault("is corrupt")
            }
            let width = 1 << Int(bytes[start] & 0xF)
            guard width <= 8, let long = Self.integer(bytes, start + 1, width) else {
                throw PropertyListGuard.fault("is corrupt")
            }
            count = long
            start += 1 + width
        }
        // A dictionary has keys and values.
        let references = kind == 0xD ? 2 : 1
        guard count <= bytes.count / references,
            start + count * references * referenceSize <= table
        else { throw PropertyListGuard.fault("has a collection that reaches beyond its end") }
        return try (0..<count * references).map { index in
            guard let child = Self.integer(bytes, start + index * referenceSize, referenceSize)
            else {
                throw PropertyListGuard.fault("is corrupt")
            }
            return child
        }
    }

    // An integer of 16 bytes: Foundation writes those above `Int64` so, and no other; it would clamp
    // what is beyond 64 bits, and take what is negative for something else.
    private func checkLong(at start: Int) throws {
        guard start + 16 <= table else { throw PropertyListGuard.fault("is corrupt") }
        guard bytes[start..<start + 8].allSatisfy({ $0 == 0 }) else {
            throw PropertyListGuard.fault("holds an integer that is not one of 64 bits")
        }
    }

    private static func integer(_ bytes: [UInt8], _ start: Int, _ width: Int) -> Int? {
        guard start >= 0, start + width <= bytes.count else { return nil }
        let value = bytes[start..<start + width].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Int(exactly: value)
    }
}

extension PropertyListGuard {
    /// Refuses XML with characters that it may not have (XML 1.0 §2.2): Foundation writes them as
    /// they are, and no reader would take the content.
    static func checkWritten(_ content: Data) throws {
        let isIllegal = unsafe content.withUnsafeBytes { bytes in
            bytes.indices.contains { index in
                let byte = unsafe bytes[index]
                if byte < 0x20 { return byte != 0x09 && byte != 0x0A && byte != 0x0D }
                // The noncharacters U+FFFE and U+FFFF.
                guard byte == 0xEF, index + 2 < bytes.count else { return false }
                return unsafe bytes[index + 1] == 0xBF && bytes[index + 2] >= 0xBE
            }
        }
        if isIllegal {
            throw ClientError(
                .serialization,
                "a text has a control character, which a property list in XML cannot hold; remove it,"
                    + " or send the binary format")
        }
    }
}
