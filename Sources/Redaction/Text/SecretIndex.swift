// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// The known secrets; the cost of a search does not depend on the number of secrets.
package struct SecretIndex: Sendable {
    // The index is a trie of bytes. A search follows the trie for at most `depthLimit` bytes, or to
    // the end of a secret, and continues behind a match.
    private struct Edge: Hashable {
        let node: Int32
        let byte: UInt8
    }

    enum Reach: Comparable {
        /// Only as a separate word, because a short secret could be part of any longer word.
        case words
        case anywhere
    }

    private var edges: [Edge: Int32] = [:]
    private var reaches: [Reach?] = [nil]
    // Whether a secret begins with these two bytes. Allocated with the first secret.
    private var beginnings: [Bool] = []
    /// Whether the limit was reached, and later secrets may therefore stay visible.
    package private(set) var isFull = false
    package private(set) var version = 0

    // A match of this many bytes identifies a secret, however long the secret is.
    private static let depthLimit = 64
    private static let maxNodes = 1 << 18
    /// The shortest value that the search looks for, because shorter values occur everywhere.
    static let minBytes = 4

    var isEmpty: Bool { edges.isEmpty }

    // MARK: Adding

    /// Adds the secrets that `search` has found, and for a recording also their base64 forms.
    package mutating func insert(_ search: SecretSearch) {
        for (secret, reach) in search.found {
            insert(secret, reach, inBase64: search.purpose == .record)
        }
    }

    mutating func formUnion(_ other: SecretIndex) {
        let parents = Dictionary(uniqueKeysWithValues: other.edges.map { ($1, $0) })
        isFull = isFull || other.isFull
        for case (var node, let reach?) in other.reaches.indices.map({
            (Int32($0), other.reaches[$0])
        }) {
            var secret: [UInt8] = []
            while let edge = parents[node] {
                secret.append(edge.byte)
                node = edge.node
            }
            add(secret.reversed(), reach)
        }
    }

    /// Adds a secret in the spellings that are not decoded before a text is searched.
    ///
    /// The many spellings in base64 are useful for recordings, but too expensive for log lines.
    mutating func insert(_ secret: [UInt8], _ reach: Reach, inBase64: Bool = false) {
        var spelling: [UInt8]? = secret
        for _ in 0..<3 {
            guard let current = spelling else { break }
            add(current, reach)
            // A form writes a space as a plus sign.
            let plus = current.map { $0 == 0x20 ? UInt8(ascii: "+") : $0 }
            if plus != current { add(plus, reach) }
            spelling = EscapeDecoder.unescaped(current)
        }
        guard inBase64, secret.count >= 8 else { return }
        for core in Self.base64Cores(of: secret) { add(core, .anywhere) }
    }

    private mutating func add(_ bytes: [UInt8], _ reach: Reach) {
        guard bytes.count >= Self.minBytes else { return }
        if beginnings.isEmpty { beginnings = Array(repeating: false, count: 1 << 16) }
        beginnings[Int(bytes[0]) << 8 | Int(bytes[1])] = true
        var node: Int32 = 0
        for byte in bytes {
            let edge = Edge(node: node, byte: byte)
            if let next = edges[edge] {
                node = next
                continue
            }
            guard reaches.count < Self.maxNodes else {
                isFull = true
                return
            }
            node = Int32(reaches.count)
            edges[edge] = node
            reaches.append(nil)
        }
        let known = reaches[Int(node)]
        if let known, known >= reach { return }
        reaches[Int(node)] = reach
        version += 1
    }

    // Returns the digits of a secret within base64 of a longer text, for the three alignments,
    // without the outer digits, which depend on the neighbouring bytes.
    private static func base64Cores(of secret: [UInt8]) -> Set<[UInt8]> {
        var cores: Set<[UInt8]> = []
        for offset in 0..<3 {
            let padded = [UInt8](repeating: 0, count: offset) + secret.prefix(192)
            let digits = Array(Data(padded).base64EncodedData())
            let core = Array(digits[[0, 2, 3][offset]..<(padded.count * 8 / 6)])
            cores.insert(core)
            cores.insert(
                core.map { byte in
                    switch byte {
                    case UInt8(ascii: "+"): UInt8(ascii: "-")
                    case UInt8(ascii: "/"): UInt8(ascii: "_")
                    default: byte
                    }
                })
        }
        return cores
    }

    // MARK: Searching

    package func occurs(in text: [UInt8]) -> Bool {
        var isFound = false
        var work = 0
        var spelling: EscapeDecoder? = EscapeDecoder(text)
        for _ in 0...EscapeDecoder.maxLevels {
            guard let current = spelling, !isFound else { break }
            for one in [current, current.withoutZeros(), current.withoutLineEnds()] {
                search(one?.bytes ?? [], isCut: false, work: &work) { _ in isFound = true }
            }
            spelling = current.unescaped()
        }
        return isFound
    }

    /// Calls `found` with the range of each secret in a text, and adds the steps to `work`.
    func search(
        _ bytes: [UInt8], isCut: Bool, work: inout Int, found: (Range<Int>) -> Void
    ) {
        if isEmpty || bytes.count < 2 { return }
        var position = 0
        while true {
            let next = self.next(in: bytes, from: position)
            work += next - position
            guard next + 1 < bytes.count else { return }
            work += 1
            guard let end = end(bytes, next, isCut, &work) else {
                position = next + 1
                continue
            }
            found(next..<end)
            position = end
        }
    }

    private func next(in bytes: [UInt8], from start: Int) -> Int {
        unsafe bytes.withUnsafeBufferPointer { text in
            unsafe beginnings.withUnsafeBufferPointer { beginnings in
                guard let text = text.baseAddress, let isBeginning = beginnings.baseAddress else {
                    return start
                }
                let last = bytes.count - 1
                var place = start
                while place < last {
                    let pair = unsafe Int(text[place]) << 8 | Int(text[place + 1])
                    if unsafe isBeginning[pair] { return place }
                    place += 1
                }
                return place
            }
        }
    }

    private func end(
        _ bytes: [UInt8], _ start: Int, _ isCut: Bool, _ work: inout Int
    ) -> Int? {
        var node: Int32 = 0
        var position = start
        var end: Int?
        while position < bytes.count,
            let next = edges[Edge(node: node, byte: bytes[position])]
        {
            node = next
            position += 1
            work += 1
            switch reaches[Int(node)] {
            case .anywhere: end = position
            case .words where Self.isWord(bytes, start..<position): end = position
            default: continue
            }
        }
        let isPart = isCut && position == bytes.count && position - start >= Self.minBytes
        return isPart || position - start >= Self.depthLimit ? position : end
    }

    private static func isWord(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
        (range.lowerBound == 0 || !Grammar.isAlphanumeric(bytes[range.lowerBound - 1]))
            && (range.upperBound == bytes.count || !Grammar.isAlphanumeric(bytes[range.upperBound]))
    }
}
