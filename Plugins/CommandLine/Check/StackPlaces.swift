// SPDX-License-Identifier: Apache-2.0

struct StackPlaces {
    /// A line and a column in characters, both counted from 1.
    struct Place: Equatable {
        let line: Int
        let column: Int
    }

    private let text: [UInt8]
    private var stack: Int?
    private var gates: [Int] = []

    /// Finds the positions in a text that must be a JSON object.
    init(_ text: some Sequence<UInt8>) {
        self.text = Array(text)
        var position = 0
        skipBlanks(&position)
        position += 1
        while let name = string(&position) {
            skipBlanks(&position)
            position += 1
            skipBlanks(&position)
            if name.elementsEqual("\"stack\"".utf8) {
                stack = position
                if byte(position) == UInt8(ascii: "[") { gates = elements(of: position) }
            }
            skipValue(&position)
            skipSeparator(&position)
        }
    }

    /// The position of a path such as `stack[2]`; for any other path, the position of the stack.
    subscript(path: String) -> Place? {
        let number = path.split(whereSeparator: { "[]".contains($0) }).dropFirst().first
            .flatMap { Int($0) }
        if let number, gates.indices.contains(number) { return place(of: gates[number]) }
        return stack.map(place)
    }

    private func place(of position: Int) -> Place {
        let before = text[..<position]
        let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return Place(
            line: before.count { $0 == UInt8(ascii: "\n") } + 1,
            column: String(decoding: text[start..<position], as: UTF8.self).count + 1)
    }

    // MARK: Reading

    private func byte(_ position: Int) -> UInt8? {
        text.indices.contains(position) ? text[position] : nil
    }

    private func skipBlanks(_ position: inout Int) {
        while let byte = byte(position), [0x20, 0x09, 0x0A, 0x0D].contains(byte) { position += 1 }
    }

    private func skipSeparator(_ position: inout Int) {
        skipBlanks(&position)
        if byte(position) == UInt8(ascii: ",") { position += 1 }
        skipBlanks(&position)
    }

    // Returns the string at the position with the quotes, or nil if there is no string.
    private func string(_ position: inout Int) -> ArraySlice<UInt8>? {
        skipBlanks(&position)
        guard byte(position) == UInt8(ascii: "\"") else { return nil }
        let start = position
        position += 1
        while let byte = byte(position), byte != UInt8(ascii: "\"") {
            position += byte == UInt8(ascii: "\\") ? 2 : 1
        }
        position += 1
        return text[start..<min(position, text.count)]
    }

    private func skipValue(_ position: inout Int) {
        var depth = 0
        while let byte = byte(position) {
            switch byte {
            case UInt8(ascii: "\""): _ = string(&position)
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                position += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                if depth == 0 { return }
                depth -= 1
                position += 1
                if depth == 0 { return }
            case UInt8(ascii: ","):
                if depth == 0 { return }
                position += 1
            default: position += 1
            }
            if depth == 0, byte == UInt8(ascii: "\"") { return }
        }
    }

    private func elements(of start: Int) -> [Int] {
        var (position, elements) = (start + 1, [Int]())
        skipBlanks(&position)
        while let byte = byte(position), byte != UInt8(ascii: "]") {
            elements.append(position)
            skipValue(&position)
            skipSeparator(&position)
        }
        return elements
    }
}
