// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// Elements and attributes of markup that need not be well-formed, such as HTML.
extension SecretScanner {
    /// Hides the content or the `value` attribute of the element whose tag is at the position.
    mutating func markup() {
        let name = bytes[(position + 1)...].prefix { Self.isOfTagName($0) }
        guard let first = name.first, !Grammar.isDigit(first) else { return }
        var end = name.endIndex
        var tag = MarkupTag()
        while end < bytes.count, bytes[end] != UInt8(ascii: ">"), bytes[end] != UInt8(ascii: "<") {
            end = attribute(at: end, of: &tag)
        }
        search.work += end - position
        if let value = tag.value, tag.namesSecret { hide(value, isNamed: true) }
        let isOpen = end < bytes.count && bytes[end] == UInt8(ascii: ">")
        guard isOpen, bytes[end - 1] != UInt8(ascii: "/"), search.rules.hides(element: name)
        else {
            return
        }
        if closers == nil { closers = MarkupClosers(bytes, work: &search.work) }
        if let close = closers?.next(name, behind: end) {
            hideNow((end + 1)..<close)
        } else if isCut {
            hideNow((end + 1)..<bytes.count)
        }
    }

    static func isOfTagName(_ byte: UInt8) -> Bool {
        Grammar.isAlphanumeric(byte) || byte >= 0x80 || "-_.:".utf8.contains(byte)
    }

    // Returns the end of an attribute, or the next position if no attribute begins here.
    private func attribute(at start: Int, of tag: inout MarkupTag) -> Int {
        let name = bytes[start...].prefix { Self.isOfTagName($0) }
        if name.isEmpty { return start + 1 }
        let equals = name.endIndex
        guard equals + 1 < bytes.count, bytes[equals] == UInt8(ascii: "=") else { return equals }
        let quote = bytes[equals + 1]
        let isQuoted = quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'")
        let begin = isQuoted ? equals + 2 : equals + 1
        let end =
            bytes[begin...].firstIndex {
                if $0 == UInt8(ascii: "<") { return true }
                return isQuoted ? $0 == quote : $0 <= 0x20 || $0 == UInt8(ascii: ">")
            } ?? bytes.count
        tag.note(name, begin..<end, bytes[begin..<end], search.rules)
        return isQuoted && end < bytes.count && bytes[end] == quote ? end + 1 : end
    }
}

/// The attributes of a tag that have a meaning together: `name="password" value="…"`.
struct MarkupTag {
    private(set) var namesSecret = false
    private(set) var value: Range<Int>?

    mutating func note(
        _ name: some Sequence<UInt8>, _ place: Range<Int>, _ text: some Collection<UInt8>,
        _ rules: SecretRules
    ) {
        if SecretNames.isValueOfAnother(name) {
            value = place
        } else if SecretNames.namesAnother(name) || SecretNames.folded(name) == Array("type".utf8) {
            namesSecret = namesSecret || rules.hides(key: text)
        }
    }
}

/// The positions of all end tags, collected once, so that searches do not repeat.
struct MarkupClosers {
    private var places: [[UInt8]: [Int]] = [:]

    init(_ bytes: [UInt8], work: inout Int) {
        work += bytes.count
        for start in bytes.indices.dropLast(2)
        where bytes[start] == UInt8(ascii: "<") && bytes[start + 1] == UInt8(ascii: "/") {
            let name = bytes[(start + 2)...].prefix { SecretScanner.isOfTagName($0) }
            places[name.map(Grammar.lowercased), default: []].append(start)
        }
    }

    func next(_ name: some Sequence<UInt8>, behind position: Int) -> Int? {
        guard let places = places[name.map(Grammar.lowercased)] else { return nil }
        var (low, high) = (0, places.count)
        while low < high {
            let middle = (low + high) / 2
            if places[middle] > position { high = middle } else { low = middle + 1 }
        }
        return low < places.count ? places[low] : nil
    }
}

/// Base64 of content within text: `?state=eyJ…`.
extension SecretScanner {
    /// Hides base64 of JSON or XML with a secret, and returns whether the base64 was hidden.
    mutating func packedContent() -> Bool {
        // Base64 within decoded base64 is searched only without escapes, to limit the work.
        guard position >= withoutPacked, level == 0 || search.depth <= 2,
            Self.beginningsOfPacked.contains(where: { bytes[position...].starts(with: $0) })
        else { return false }
        let ends = [
            end(position) { Grammar.isAlphanumeric($0) || $0 == 0x2D || $0 == 0x5F },
            end(position) { Grammar.isAlphanumeric($0) || $0 == 0x2B || $0 == 0x2F },
        ]
        withoutPacked = max(ends[0], ends[1])
        search.work += ends[0] + ends[1] - 2 * position
        for end in Set(ends) where holdsSecret(position..<end) {
            hideNow(position..<end, isNamed: false)
            return true
        }
        return false
    }

    /// Whether the value of a query item is JSON or XML that contains a secret: `?q=%7B%22k…`.
    func isContentWithSecret(_ value: Range<Int>) -> Bool {
        guard let first = bytes[value].first, "{[<%".utf8.contains(first), value.count > 8 else {
            return false
        }
        search.work += 2 * value.count
        let text = Array(bytes[value])
        let plain = first == UInt8(ascii: "%") ? EscapeDecoder.unescaped(text) ?? text : text
        return NestedKind(sniffing: plain).map {
            search.holdsSecret($0, plain, isCut: isCut && value.upperBound == bytes.count)
        } ?? false
    }

    private func end(_ start: Int, where belongs: (UInt8) -> Bool) -> Int {
        var end = start
        while end < bytes.count, belongs(bytes[end]) { end += 1 }
        return end
    }

    private func holdsSecret(_ packed: Range<Int>) -> Bool {
        guard packed.count >= 16, let plain = Base64.decode(bytes[packed]),
            let kind = NestedKind(sniffing: plain)
        else { return false }
        return search.holdsSecret(
            kind, plain, isCut: isCut && packed.upperBound == bytes.count)
    }

    /// The first digits of `{"`, `{ "`, `{` and a line end, `["`, `[{`, `[[`, `[` and a blank, and
    /// `<?x`.
    static let beginningsOfPacked = "eyJ eyA ewo ewk ew0 WyJ W3s W1s WyA Wwo Ww0 PD9".split(
        separator: " "
    ).map { Array($0.utf8) }
}
