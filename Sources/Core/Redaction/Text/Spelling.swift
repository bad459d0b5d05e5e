/// A text as it is meant on one level of escapes, and where each of its bytes stands in the source.
///
/// A URL in a query of a URL in a string of JSON is escaped three times. What holds on each level is
/// looked for in a text of its own, and hidden in the source.
struct Spelling {
    let bytes: [UInt8]
    // Where this text goes on elsewhere in the source than behind the byte before, in order.
    private let joints: [Joint]

    private struct Joint {
        let position: Int
        let source: Int
    }

    /// The source itself.
    init(_ source: [UInt8]) {
        bytes = source
        joints = []
    }

    /// What a range of this text is in the source.
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

    /// How often a text is read anew without its escapes; what has more is packed to be hidden.
    static let maxLevels = 6

    // MARK: Other spellings

    /// The text without one level of escapes, or nil where it has none: `%2F`, `\/`, `\u002f`,
    /// `&#47;` and the like, whatever it is that holds the text.
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

    /// The text without the bytes that are zero, or nil where it has none: UTF-16 as ASCII.
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

    /// The text without line ends and the blanks behind them, or nil where it has none: base64 in
    /// lines.
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

    // Another text made of parts of one.
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

        // Each byte of a character that has several stands where the escape does.
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

        // Nil where nothing was left out.
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

    /// Whether a secret that is known stands in the text, however often it is escaped there.
    func holds(_ known: SecretIndex, work: inout Int) -> Bool {
        var isHeld = false
        var spelling: Spelling? = self
        for _ in 0...Self.maxLevels {
            guard let text = spelling else { break }
            for one in [text, text.withoutZeros(), text.withoutLineEnds()] {
                known.search(one?.bytes ?? [], isCut: false, work: &work) { _ in isHeld = true }
            }
            if isHeld { return true }
            spelling = text.unescaped()
        }
        return isHeld
    }

    /// Hides the words that are still packed when they were unpacked so often.
    func hidePacked(in marks: inout SecretMarks) {
        var start = 0
        for end in 0...bytes.count where end == bytes.count || SecretScanner.isBoundary(bytes[end])
        {
            let word = bytes[start..<end]
            if word.contains(where: Self.beginsEscape) { marks.hide(source(of: start..<end)) }
            start = end + 1
        }
    }

    /// The text with the entities and character references of XML resolved.
    func withoutEntities() -> [UInt8] {
        var text: [UInt8] = []
        var position = 0
        while position < bytes.count {
            if bytes[position] == UInt8(ascii: "&"), let escape = Escape(bytes, at: position) {
                escape.write(to: &text)
                position += escape.count
            } else {
                text.append(bytes[position])
                position += 1
            }
        }
        return text
    }

    /// Bytes without one level of escapes, or nil where they have none.
    static func unescaped(_ bytes: [UInt8]) -> [UInt8]? { Spelling(bytes).unescaped()?.bytes }
}
