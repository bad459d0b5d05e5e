// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// A text with some levels of escapes removed, and the position of each of its bytes in the source.
///
/// A URL in the query of a URL in a JSON string is escaped three times. Each level is searched as a
/// text of its own, and what is found is hidden in the source.
struct Spelling {
    let bytes: [UInt8]
    // The positions, in order, where this text does not continue in the source after the previous
    // byte.
    private let joints: [Joint]

    private struct Joint {
        let position: Int
        let source: Int
    }

    /// Creates the spelling of the source itself.
    init(_ source: [UInt8]) {
        bytes = source
        joints = []
    }

    /// Returns the range of the source that a range of this text comes from.
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

    /// How many levels of escapes are removed.
    ///
    /// Words that are still escaped then are hidden.
    static let maxLevels = 6

    // MARK: Other spellings

    /// Returns the text without one level of escapes, or nil if it has none.
    ///
    /// Understands `%2F`, `\/`, `\u002f`, `&#47;` and the like, whatever the format of the text.
    func unescaped() -> Spelling? {
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

    /// Returns the text without zero bytes, or nil if it has none: turns ASCII in UTF-16 into
    /// ASCII.
    func withoutZeros() -> Spelling? {
        var copy = Copy(of: self)
        var position = 0
        while true {
            position = SecretSieve.kinds.first(SecretSieve.Kind.zero, in: bytes, from: position)
            guard position < bytes.count else { break }
            copy.leaveOut(position..<(position + 1))
            position += 1
        }
        return copy.finished()
    }

    /// Returns the text without line breaks and the spaces after them, or nil if it has none: joins
    /// the lines of base64.
    func withoutLineEnds() -> Spelling? {
        var copy = Copy(of: self)
        var position = 0
        while true {
            position = SecretSieve.kinds.first(SecretSieve.Kind.lineEnd, in: bytes, from: position)
            guard position < bytes.count else { break }
            let start = position
            while position < bytes.count,
                Self.isLineEnd(bytes[position]) || Grammar.isBlank(bytes[position])
            { position += 1 }
            copy.leaveOut(start..<position)
        }
        return copy.finished()
    }

    // Builds another text from parts of the original.
    private struct Copy {
        private let original: Spelling
        private var text: [UInt8] = []
        private var joints: [Joint] = []
        private var copied = 0

        init(of original: Spelling) { self.original = original }

        mutating func leaveOut(_ range: Range<Int>) {
            keep(upTo: range.lowerBound)
            copied = range.upperBound
        }

        // Each byte of a multi-byte character maps to the position of the escape.
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
        consuming func finished() -> Spelling? {
            if copied == 0 { return nil }
            let end = original.bytes.count
            keep(upTo: end)
            join(text.count, original.origin(of: end))
            return Spelling(text, joints)
        }
    }

    private init(_ bytes: [UInt8], _ joints: [Joint]) {
        self.bytes = bytes
        self.joints = joints
    }

    private static func isLineEnd(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }

    private static let escapes = ByteTable { beginsEscape($0) ? 1 : 0 }

    /// Whether a byte may begin an escape.
    static func beginsEscape(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "%") || byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "&")
    }

    /// Hides the words that are still escaped after the last level.
    func hidePacked(in marks: inout SecretMarks) {
        var start = 0
        for end in 0...bytes.count where end == bytes.count || SecretScanner.isBoundary(bytes[end])
        {
            let word = bytes[start..<end]
            if word.contains(where: Self.beginsEscape) { marks.hide(source(of: start..<end)) }
            start = end + 1
        }
    }

    /// Returns bytes without one level of escapes, or nil if they have none.
    static func unescaped(_ bytes: [UInt8]) -> [UInt8]? { Spelling(bytes).unescaped()?.bytes }
}
