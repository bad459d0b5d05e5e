// SPDX-License-Identifier: Apache-2.0

/// Values of several lines in text.
extension SecretScanner {
    /// Returns the end of a text between triple quotes (TOML, Python), or nil if it is none.
    func endOfTriple(_ start: Int) -> Int? {
        guard isTriple(start) else { return nil }
        var end = start + 3
        while end < bytes.count, bytes[end] != bytes[start] || !isTriple(end) { end += 1 }
        pass.work += end - start
        return end
    }

    private func isTriple(_ place: Int) -> Bool {
        place + 2 < bytes.count && bytes[place + 1] == bytes[place]
            && bytes[place + 2] == bytes[place]
    }

    /// Returns the lines of a block scalar (YAML), or nil if the value at a position is none.
    func block(at start: Int, of name: Int) -> Range<Int>? {
        guard bytes[start] == UInt8(ascii: "|") || bytes[start] == UInt8(ascii: ">") else {
            return nil
        }
        let indicators = bytes[(start + 1)...].prefix(16).prefix {
            "+-0123456789 \t\r".utf8.contains($0)
        }
        guard indicators.endIndex < bytes.count, bytes[indicators.endIndex] == 0x0A else {
            return nil
        }
        let line = bytes[..<name].suffix(256).lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        var next = indicators.endIndex + 1
        var (begin, end) = (next, next)
        while next < bytes.count {
            let text = bytes[next...].prefix { $0 != 0x0A }
            let indentation = text.prefix { $0 == 0x20 }.count
            if !text.allSatisfy({ $0 <= 0x20 }) {
                if indentation <= name - line { break }
                if end == begin { begin = next + indentation }
                end = text.endIndex
            }
            next = text.endIndex + 1
        }
        pass.work += next - start
        return begin < end ? begin..<end : nil
    }
}
