// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The header section of a part of multipart content, with the positions of its fields.
struct PartHead {
    struct Field {
        let name: ArraySlice<UInt8>
        /// The value with continuation lines, without surrounding whitespace.
        let value: ArraySlice<UInt8>
    }

    let fields: [Field]
    /// The position after the empty line.
    let end: Int
    let isWhole: Bool

    /// Reads field lines up to the empty line or the end of the bytes.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` if a line is not a field line.
    init(_ bytes: ArraySlice<UInt8>) throws(ClientError) {
        var fields: [Field] = []
        var position = bytes.startIndex
        while true {
            let line = Self.line(bytes, position)
            if line.isEmpty || line.startIndex == bytes.endIndex {
                self.fields = fields
                end = Self.behind(line, bytes)
                isWhole = line.startIndex < bytes.endIndex
                return
            }
            var last = line
            // A line that begins with whitespace continues the previous line (RFC 9112 §5.2).
            var next = Self.behind(line, bytes)
            while next < bytes.endIndex, Grammar.isBlank(bytes[next]) {
                last = Self.line(bytes, next)
                next = Self.behind(last, bytes)
            }
            let field = bytes[line.startIndex..<last.endIndex]
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
                line[..<colon].allSatisfy(Grammar.isTokenByte)
            else {
                throw .unreadable("a field line is invalid", at: line.startIndex - bytes.startIndex)
            }
            var value = field[(colon + 1)...]
            while let first = value.first, first <= 0x20 { value = value.dropFirst() }
            while let last = value.last, last <= 0x20 { value = value.dropLast() }
            fields.append(Field(name: line[..<colon], value: value))
            position = next
        }
    }

    private static func line(_ bytes: ArraySlice<UInt8>, _ start: Int) -> ArraySlice<UInt8> {
        let end = bytes[start...].firstIndex(of: 0x0A) ?? bytes.endIndex
        let isPair = end > start && end < bytes.endIndex && bytes[end - 1] == 0x0D
        return bytes[start..<(isPair ? end - 1 : end)]
    }

    private static func behind(_ line: ArraySlice<UInt8>, _ bytes: ArraySlice<UInt8>) -> Int {
        let end = bytes[line.endIndex...].firstIndex(of: 0x0A) ?? bytes.endIndex
        return min(end + 1, bytes.endIndex)
    }

    /// Returns the values of a field in order, each on one line.
    func values(_ name: String) -> [String] {
        fields.filter { $0.name.map(Grammar.lowercased).elementsEqual(name.utf8) }.map { field in
            String(decoding: field.value.map { $0 < 0x20 ? 0x20 : $0 }, as: UTF8.self)
        }
    }

    func redacted(_ bytes: ArraySlice<UInt8>, in pass: RedactionPass) -> [UInt8] {
        var shown: [UInt8] = []
        var copied = bytes.startIndex
        for field in fields {
            let name = HTTPHeaders.Name(String(decoding: field.name, as: UTF8.self))
            let value = pass.header(name, String(decoding: field.value, as: UTF8.self))
            if value.utf8.elementsEqual(field.value) { continue }
            shown += bytes[copied..<field.value.startIndex] + value.utf8
            copied = field.value.endIndex
        }
        return shown + bytes[copied..<end]
    }
}
