// SPDX-License-Identifier: Apache-2.0

public import TurnpikeSupport

extension JSONValue {
    /// Returns the value as JSON text in UTF-8, without a byte order mark.
    /// - Parameters:
    ///   - pretty: Whether each member and each element is on a separate line.
    ///   - sortedNames: Whether members are sorted by name. If false, the order of the members does
    ///     not change.
    /// - Returns: The text, in which slashes are not escaped.
    public func data(pretty: Bool = false, sortedNames: Bool = false) -> Data {
        Data(jsonBytes(pretty: pretty, sortedNames: sortedNames))
    }

    func jsonBytes(pretty: Bool = false, sortedNames: Bool = false) -> [UInt8] {
        var writer = JSONWriter(pretty: pretty, sortedNames: sortedNames)
        writer.write(self)
        return writer.bytes
    }
}

private struct JSONWriter {
    let pretty: Bool
    let sortedNames: Bool
    var bytes: [UInt8] = []
    var depth = 0

    init(pretty: Bool, sortedNames: Bool) {
        self.pretty = pretty
        self.sortedNames = sortedNames
    }

    mutating func write(_ value: JSONValue) {
        switch value {
        case .null: bytes += "null".utf8
        case .bool(let value): bytes += (value ? "true" : "false").utf8
        case .number(let number): bytes += number.description.utf8
        case .string(let text): write(text)
        case .array(let elements):
            writeList(elements, open: "[", close: "]") { writer, element in writer.write(element) }
        case .object(let object):
            let members = sortedNames ? object.sorted { $0.name < $1.name } : Array(object)
            writeList(members, open: "{", close: "}") { writer, member in
                writer.write(member.name)
                writer.bytes += (writer.pretty ? ": " : ":").utf8
                writer.write(member.value)
            }
        }
    }

    private mutating func writeList<Element>(
        _ elements: [Element], open: Unicode.Scalar, close: Unicode.Scalar,
        each: (inout JSONWriter, Element) -> Void
    ) {
        bytes.append(UInt8(ascii: open))
        depth += 1
        for (position, element) in elements.enumerated() {
            if position > 0 { bytes.append(UInt8(ascii: ",")) }
            breakLine()
            each(&self, element)
        }
        depth -= 1
        if !elements.isEmpty { breakLine() }
        bytes.append(UInt8(ascii: close))
    }

    private mutating func breakLine() {
        guard pretty else { return }
        bytes.append(0x0A)
        bytes.append(contentsOf: repeatElement(0x20, count: depth * 2))
    }

    private mutating func write(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): bytes += #"\""#.utf8
            case UInt8(ascii: "\\"): bytes += #"\\"#.utf8
            case 0x0A: bytes += #"\n"#.utf8
            case 0x0D: bytes += #"\r"#.utf8
            case 0x09: bytes += #"\t"#.utf8
            case 0..<0x20:
                bytes += (byte < 0x10 ? #"\u000"# : #"\u00"#).utf8
                bytes += String(byte, radix: 16).utf8
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
