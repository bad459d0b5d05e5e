// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// Skips the bytes that have no meaning for a ``SecretScanner``: most bytes of a text.
struct Prefilter: Sendable {
    enum Kind {
        /// Part of a word: an ASCII letter or digit.
        static let word: UInt8 = 1
        /// Always ends a word.
        static let boundary: UInt8 = 2
        /// May join a name and a value, or occur in a URL.
        static let sign: UInt8 = 4
        static let escape: UInt8 = 8
        static let lineEnd: UInt8 = 16
        static let zero: UInt8 = 32
        static let hyphen: UInt8 = 64
    }

    static let kinds = ByteTable { byte in
        var kind: UInt8 = 0
        if Grammar.isAlphanumeric(byte) { kind |= Kind.word }
        if SecretScanner.isBoundary(byte) { kind |= Kind.boundary }
        if "/\\=:@?&#;-<".utf8.contains(byte) { kind |= Kind.sign }
        if EscapeDecoder.beginsEscape(byte) { kind |= Kind.escape }
        if byte == 0x0A || byte == 0x0D { kind |= Kind.lineEnd }
        if byte == 0 { kind |= Kind.zero }
        if byte == UInt8(ascii: "-") { kind |= Kind.hyphen }
        return kind
    }

    static let all = Prefilter(
        stops: Kind.sign, tellsSpoken: true,
        beginnings: TokenHeuristic.beginnings + SecretScanner.beginningsOfSchemes
            + SecretScanner.beginningsOfWords + SecretScanner.beginningsOfPacked)

    static let looks = Prefilter(
        stops: Kind.hyphen, tellsSpoken: false, beginnings: TokenHeuristic.beginnings)

    private let stops: UInt8
    private let tellsSpoken: Bool
    // The first three bytes of relevant words, five bits of each.
    private let beginnings: [UInt32]

    private init(stops: UInt8, tellsSpoken: Bool, beginnings words: [[UInt8]]) {
        self.stops = stops
        self.tellsSpoken = tellsSpoken
        var beginnings = [UInt32](repeating: 0, count: 1 << 10)
        for word in words {
            beginnings[Int(word[0] & 31) << 5 | Int(word[1] & 31)] |= 1 << UInt32(word[2] & 31)
        }
        self.beginnings = beginnings
    }

    /// Returns the next position that may matter, or the end; `start` must not be within a word.
    func next(in bytes: [UInt8], from start: Int, stopsAtBoundary: Bool) -> Int {
        let stops = stopsAtBoundary ? stops | Kind.boundary : stops
        return unsafe Self.kinds.withFlags(bytes) { text, count, kinds in
            unsafe beginnings.withUnsafeBufferPointer { beginnings in
                var place = start
                while place < count {
                    let kind = unsafe kinds[Int(text[place])]
                    if kind & stops != 0 { return place }
                    guard kind & Kind.word != 0 else {
                        place += 1
                        continue
                    }
                    let begin = place
                    if count - begin < 3 { return begin }
                    let pair = unsafe Int(text[begin] & 31) << 5 | Int(text[begin + 1] & 31)
                    let third = unsafe UInt32(text[begin + 2] & 31)
                    if unsafe beginnings[pair] >> third & 1 != 0 { return begin }
                    while place < count, unsafe kinds[Int(text[place])] & Kind.word != 0 {
                        place += 1
                    }
                    // "the password is hunter2"
                    if tellsSpoken, place - begin >= 3, count - place >= 4,
                        unsafe text[place] == 0x20 && text[place + 1] == UInt8(ascii: "i")
                            && text[place + 2] == UInt8(ascii: "s") && text[place + 3] == 0x20
                    {
                        return begin
                    }
                }
                return count
            }
        }
    }

    /// Whether a text with these combined byte flags, which is no URL, cannot contain a secret.
    static func isPlain(_ text: [UInt8], _ kinds: UInt8) -> Bool {
        kinds & (Kind.sign | Kind.escape | Kind.lineEnd | Kind.zero) == 0
            && all.next(in: text, from: 0, stopsAtBoundary: false) == text.count
    }
}

/// Flags for each byte value, and searches that use the flags.
///
/// In debug builds, an array access is a call, and a pointer access costs a fifth of this call. The
/// searches must be fast, because content may have many mebibytes.
struct ByteTable: Sendable {
    private let flags: [UInt8]

    /// - Parameter flag: Returns the flags of a byte as a bit mask.
    init(_ flag: (UInt8) -> UInt8) { flags = (0...255).map(flag) }

    subscript(byte: UInt8) -> UInt8 { flags[Int(byte)] }

    func first(_ mask: UInt8 = 1, in bytes: [UInt8], from start: Int = 0) -> Int {
        unsafe withFlags(bytes) { text, count, flags in
            var place = start
            while place < count, unsafe flags[Int(text[place])] & mask == 0 { place += 1 }
            return place
        }
    }

    func union(of bytes: [UInt8]) -> UInt8 {
        unsafe withFlags(bytes) { text, count, flags in
            var union: UInt8 = 0
            var place = 0
            while place < count {
                unsafe union |= flags[Int(text[place])]
                place += 1
            }
            return union
        }
    }

    /// Runs a search over bytes and flags; the closure must check its own bounds.
    @inline(__always)
    func withFlags<Result>(
        _ bytes: [UInt8],
        _ body: (_ text: UnsafePointer<UInt8>, _ count: Int, _ flags: UnsafePointer<UInt8>) ->
            Result
    ) -> Result {
        unsafe bytes.withUnsafeBufferPointer { text in
            unsafe flags.withUnsafeBufferPointer { flags in
                // An empty array may have no address, and nothing is read from an empty array.
                let table = unsafe flags.baseAddress.unsafelyUnwrapped
                return unsafe body(text.baseAddress ?? table, text.count, table)
            }
        }
    }
}
