// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// Finds secrets in text without a known grammar: known secrets, secrets in URLs, after names and
/// after authentication schemes, and secrets with a recognizable form.
///
/// Only ASCII bytes have a meaning. In a `String`, a combining mark would conceal a delimiter
/// before it. The text is scanned unchanged, and again after the removal of each level of escapes.
/// In any text, each byte is inspected a bounded number of times.
struct SecretScanner {
    enum Shape {
        case text
        /// A URL, or a text in the place of a URL.
        case url
    }

    let bytes: [UInt8]
    let shape: Shape
    let isCut: Bool
    let search: SecretSearch
    private let spelling: EscapeDecoder
    let level: Int
    private(set) var marks: SecretMarks
    var looks: TokenHeuristic
    var closers: MarkupClosers?

    var position = 0
    private var item: Int?
    private var segment: Int?
    private var segmentBefore: Range<Int>?
    // No `@` occurs before this position.
    var withoutAt = 0
    // No answer to a challenge occurs before this position.
    var withoutAnswer = 0
    // All base64 that begins before this position has been tried.
    var withoutPacked = 0
    // The last argument without quotes.
    var lastArgument = 0..<0
    // No pair and no cookie of an argument begins before these positions.
    var withoutPair = 0
    var withoutCookie = 0
    // Where the last curl command and the last entry of a netrc file began.
    var curl: Int?
    var netrc: Int?

    static func redacted(
        _ source: [UInt8], as shape: Shape, isCut: Bool = false, in search: SecretSearch
    ) -> [UInt8]? {
        let kinds = Prefilter.kinds.union(of: source)
        if shape == .text, !isCut, Prefilter.isPlain(source, kinds) {
            return redactedKnown(EscapeDecoder(source), search)
        }
        var marks = SecretMarks()
        var spelling = EscapeDecoder(source)
        for level in 0... {
            var scanner = SecretScanner(spelling, shape, level, isCut, search, marks)
            scanner.scan()
            marks = scanner.marks
            let hasEscapes = kinds & Prefilter.Kind.escape != 0
            guard hasEscapes, let inner = spelling.unescaped() else { break }
            if level == EscapeDecoder.maxLevels {
                spelling.hidePacked(in: &marks)
                break
            }
            spelling = inner
        }
        if !search.rules.known.isEmpty {
            let plain = EscapeDecoder(source)
            for other in [plain.withoutZeros(), plain.withoutLineEnds()] {
                if let other { hideKnown(other, isCut, search, &marks) }
            }
        }
        return marks.isEmpty ? nil : marks.applied(to: source)
    }

    private static func redactedKnown(_ spelling: EscapeDecoder, _ search: SecretSearch) -> [UInt8]?
    {
        var marks = SecretMarks()
        hideKnown(spelling, false, search, &marks)
        search.work += spelling.bytes.count
        return marks.isEmpty ? nil : marks.applied(to: spelling.bytes)
    }

    // Hides known secrets and secrets of a recognizable form; nil if there are none. Text is also
    // searched without escapes and line breaks.
    static func redactedBinary(
        _ source: [UInt8], isText: Bool = false, isCut: Bool, in search: SecretSearch
    ) -> [UInt8]? {
        var marks = SecretMarks()
        let plain = EscapeDecoder(source)
        let others = isText ? [plain.unescaped(), plain.withoutLineEnds()] : []
        for spelling in [plain, plain.withoutZeros()] + others {
            guard let spelling else { continue }
            var scanner = SecretScanner(spelling, .text, 1, isCut, search, marks)
            scanner.scanForLooks()
            marks = scanner.marks
        }
        return marks.isEmpty ? nil : marks.applied(to: source)
    }

    private init(
        _ spelling: EscapeDecoder, _ shape: Shape, _ level: Int, _ isCut: Bool,
        _ search: SecretSearch,
        _ marks: SecretMarks
    ) {
        self.spelling = spelling
        self.shape = shape
        self.level = level
        self.isCut = isCut
        self.search = search
        self.marks = marks
        bytes = spelling.bytes
        looks = TokenHeuristic(bytes, isCut: isCut)
    }

    private static func hideKnown(
        _ spelling: EscapeDecoder, _ isCut: Bool, _ search: SecretSearch, _ marks: inout SecretMarks
    ) {
        search.rules.known.search(spelling.bytes, isCut: isCut, work: &search.work) {
            marks.hide(spelling.source(of: $0))
        }
    }

    // MARK: The scan

    private mutating func scan() {
        Self.hideKnown(spelling, isCut, search, &marks)
        if shape == .url { segment = 0 }
        while true {
            position = Prefilter.all.next(in: bytes, from: position, stopsAtBoundary: isInURL)
            guard position < bytes.count else { break }
            let byte = bytes[position]
            if Grammar.isAlphanumeric(byte) { word() } else { delimiter(byte) }
        }
        endWord()
        if isCut { hideCutWord() }
        search.work += bytes.count + looks.work
    }

    // Whether the end of a word has a meaning.
    private var isInURL: Bool { segment != nil || segmentBefore != nil || item != nil }

    private mutating func scanForLooks() {
        Self.hideKnown(spelling, isCut, search, &marks)
        while true {
            position = Prefilter.looks.next(in: bytes, from: position, stopsAtBoundary: false)
            guard position < bytes.count else { break }
            let start = position
            if bytes[start] == UInt8(ascii: "-") {
                privateKey()
                if position == start { position += 1 }
            } else if !credentialByLooks() {
                skipWord()
            }
        }
        search.work += bytes.count + looks.work
    }

    private mutating func word() {
        if credentialByLooks() || packedContent() || credentialOfScheme() { return }
        let start = position
        skipWord()
        let word = start..<position
        spokenSecret(word)
        command(word)
    }

    private mutating func credentialByLooks() -> Bool {
        guard let end = looks.credential(at: position) else { return false }
        hideNow(position..<end)
        return true
    }

    private mutating func skipWord() {
        while position < bytes.count, Grammar.isAlphanumeric(bytes[position]) { position += 1 }
    }

    private mutating func delimiter(_ byte: UInt8) {
        let start = position
        // A method that finds a secret moves the position past the secret itself.
        defer { if position == start { position += 1 } }
        switch byte {
        case UInt8(ascii: "/"), UInt8(ascii: "\\"):
            if isEscapedControl(position) { endWord() } else { slash() }
        case UInt8(ascii: "="), UInt8(ascii: ":"): assignment()
        case UInt8(ascii: "@"): userInformationWithoutScheme()
        case UInt8(ascii: "?"):
            endSegment()
            segment = nil
            item = item ?? position + 1
        case UInt8(ascii: "&"), UInt8(ascii: "#"):
            endSegment()
            segment = nil
            endItem()
            item = position + 1
        case UInt8(ascii: ";"):
            endSegment()
            segment = nil
            if item != nil {
                endItem()
                item = position + 1
            }
        case UInt8(ascii: "-"):
            privateKey()
            option()
        case UInt8(ascii: "<"):
            endWord()
            markup()
        default: if Self.isBoundary(byte) { endWord() }
        }
    }

    // MARK: Parts of URLs

    private mutating func endWord() {
        endSegment()
        segmentBefore = nil
        // A whole URL is one word.
        if shape == .url, position < bytes.count { return }
        endItem()
        segment = nil
        item = nil
    }

    private mutating func slash() {
        if isSlash(position + 1), bytes[position] == UInt8(ascii: "/") || isBehindColon {
            authority()
        } else if bytes[position] == UInt8(ascii: "/") {
            let isFirst = position == 0 || !Grammar.isAlphanumeric(bytes[position - 1])
            if segment != nil || isFirst {
                endSegment()
                segment = position + 1
            }
        }
    }

    mutating func beginPath(at start: Int) {
        segment = start
        segmentBefore = nil
    }

    // A segment is a secret if the previous segment is a secret name: `/reset-token/4711a2`.
    private mutating func endSegment() {
        guard let start = segment, start <= position else { return }
        let range = start..<position
        if let before = segmentBefore, !before.isEmpty, isMade(range),
            search.rules.hides(key: bytes[before]),
            // A word such as "auth" in the name of a service is no secret name.
            SecretNames.isKeyLike(bytes[before]) || !SecretNames.isFieldName(bytes[before])
                || search.rules.isAdded(bytes[before])
        {
            hide(range, isNamed: true)
        }
        segmentBefore = range
    }

    /// Whether a word looks generated by a machine, or may be truncated.
    func isMade(_ word: Range<Int>) -> Bool {
        TokenHeuristic.isMade(bytes[word])
            || (isCut && word.upperBound == bytes.count && !word.isEmpty)
    }

    // A query value is shown completely or not at all.
    private mutating func endItem() {
        guard level == 0, let start = item, start < position else { return }
        let equals = bytes[start..<position].firstIndex(of: UInt8(ascii: "="))
        let value = (equals.map { $0 + 1 } ?? start)..<position
        if isContentWithSecret(value) { hide(value, isNamed: false) }
        marks.noteField(value)
    }

    var isInQuery: Bool { item != nil }

    /// Whether a name is in the place of a query or path parameter.
    func isInQuery(at name: Int) -> Bool {
        if name == 0 { return false }
        switch bytes[name - 1] {
        case UInt8(ascii: "?"), UInt8(ascii: "&"), UInt8(ascii: "#"), UInt8(ascii: ";"): return true
        default: return false
        }
    }

    // MARK: Hiding

    mutating func hide(_ range: Range<Int>, isNamed: Bool) {
        if range.isEmpty { return }
        search.learn(bytes[range], isNamed: isNamed)
        marks.hide(spelling.source(of: range))
    }

    mutating func hideNow(_ range: Range<Int>, isNamed: Bool = true) {
        hide(range, isNamed: isNamed)
        position = max(position, range.upperBound)
    }
}

/// The ranges of a text to hide.
struct SecretMarks {
    private var hidden: [Range<Int>] = []
    private var fields: [Range<Int>] = []

    var isEmpty: Bool { hidden.isEmpty }

    mutating func hide(_ range: Range<Int>) {
        if !range.isEmpty { hidden.append(range) }
    }

    /// Adds a range, after all earlier ranges, that is hidden completely if any part is hidden.
    mutating func noteField(_ range: Range<Int>) {
        if !range.isEmpty { fields.append(range) }
    }

    func applied(to source: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(source.count)
        var copied = 0
        for run in runs() {
            text += source[copied..<run.lowerBound]
            text += SecretSearch.mark
            copied = run.upperBound
        }
        return text + source[copied...]
    }

    private func runs() -> [Range<Int>] {
        let runs = Self.joined(hidden)
        var touched: [Range<Int>] = []
        var next = 0
        for field in fields {
            while next < runs.count, runs[next].upperBound <= field.lowerBound { next += 1 }
            if next < runs.count, runs[next].overlaps(field) { touched.append(field) }
        }
        return touched.isEmpty ? runs : Self.joined(runs + touched)
    }

    private static func joined(_ ranges: [Range<Int>]) -> [Range<Int>] {
        var runs: [Range<Int>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = runs.last, range.lowerBound <= last.upperBound {
                runs[runs.count - 1] =
                    last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                runs.append(range)
            }
        }
        return runs
    }
}
