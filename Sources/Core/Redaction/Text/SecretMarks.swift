/// The places of a text that are to be hidden.
struct SecretMarks {
    // How many places begin and end at each position; made with the first one.
    private var changes: [Int32] = []
    private let count: Int
    private var fields: [Range<Int>] = []

    init(count: Int) { self.count = count }

    var isEmpty: Bool { changes.isEmpty }

    /// Hides a range.
    mutating func hide(_ range: Range<Int>) {
        if range.isEmpty { return }
        if changes.isEmpty { changes = Array(repeating: 0, count: count + 1) }
        changes[range.lowerBound] += 1
        changes[range.upperBound] -= 1
    }

    /// Notes a range that is hidden whole where any of it is.
    ///
    /// Ranges come in order and do not overlap.
    mutating func noteField(_ range: Range<Int>) { fields.append(range) }

    /// The text with a mark in the place of each run of hidden bytes.
    func applied(to source: [UInt8]) -> [UInt8] {
        if isEmpty { return source }
        var isHidden = hiddenBytes()
        for field in fields where isHidden[field].contains(true) {
            for position in field { isHidden[position] = true }
        }
        var text: [UInt8] = []
        text.reserveCapacity(source.count)
        var wasHidden = false
        for (position, byte) in source.enumerated() {
            if isHidden[position] {
                if !wasHidden { text += RedactionPass.mark }
            } else {
                text.append(byte)
            }
            wasHidden = isHidden[position]
        }
        return text
    }

    private func hiddenBytes() -> [Bool] {
        var open: Int32 = 0
        return changes.dropLast().map { change in
            open += change
            return open > 0
        }
    }
}
