/// Skips what of a text means nothing to a ``SecretScanner``: most of it.
struct SecretSieve: Sendable {
    /// What a byte may be.
    enum Kind {
        /// Of a word: a letter or a digit of ASCII.
        static let word: UInt8 = 1
        /// What ends a word for sure.
        static let boundary: UInt8 = 2
        /// What may join a name and a value, or stand in a URL.
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
        if Spelling.beginsEscape(byte) { kind |= Kind.escape }
        if byte == 0x0A || byte == 0x0D { kind |= Kind.lineEnd }
        if byte == 0 { kind |= Kind.zero }
        if byte == UInt8(ascii: "-") { kind |= Kind.hyphen }
        return kind
    }

    /// Lets through what may begin a secret of any kind.
    static let all = SecretSieve(
        stops: Kind.sign, tellsSpoken: true,
        beginnings: SecretLooks.beginnings + SecretScanner.beginningsOfSchemes)

    /// Lets through what may begin a secret that is told by its looks.
    static let looks = SecretSieve(
        stops: Kind.hyphen, tellsSpoken: false, beginnings: SecretLooks.beginnings)

    private let stops: UInt8
    private let tellsSpoken: Bool
    // Words that may mean something, by five bits of each of their first three bytes.
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

    /// The next place that may mean something; else the end.
    /// - Parameters:
    ///   - bytes: The text.
    ///   - start: Where to begin. A word that stands there is taken for a whole one.
    ///   - stopsAtBoundary: Whether the end of a word means something.
    /// - Returns: The place.
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
                    if tellsSpoken, place - begin >= 5, count - place >= 4,
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

    /// Whether nothing in a text tells that it is a secret, however it is read.
    /// - Parameters:
    ///   - text: The text, which is no URL.
    ///   - kinds: What its bytes are, all together.
    /// - Returns: Whether it is.
    static func isPlain(_ text: [UInt8], _ kinds: UInt8) -> Bool {
        kinds & (Kind.sign | Kind.escape | Kind.lineEnd | Kind.zero) == 0
            && all.next(in: text, from: 0, stopsAtBoundary: false) == text.count
    }
}
