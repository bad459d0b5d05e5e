// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

extension TargetURI {
    /// Parses a URI reference (RFC 3986 §4.1) in the usual forms of people and servers, and
    /// resolves the reference (§5.2).
    ///
    /// Characters that are not allowed in a path, query or fragment are percent-encoded. Escapes
    /// stay unchanged. Foundation would encode all escapes of a part that has a character that is
    /// not allowed (`a b%20c` as `a%20b%2520c`).
    /// - Parameters:
    ///   - reference: The reference. If the reference is empty, the result is nil.
    ///   - base: The URI against which a relative reference is resolved.
    public init?(reference: String, relativeTo base: TargetURI? = nil) {
        let start = URIParts(reference).path.lowerBound
        // Foundation converts letters beyond ASCII for DNS, in time that grows with the square of
        // the number of letters.
        if reference.isEmpty || start > Self.longestAuthority { return nil }
        let encoded = Self.encode(reference, from: start)
        guard let url = URL(string: base?.resolve(encoded) ?? encoded) else { return nil }
        self.init(url)
    }

    // A DNS name has at most 253 bytes, but several bytes may encode one byte of the name.
    private static let longestAuthority = 4096

    // Resolves a reference by RFC 3986 §5.2.2; dot segments are removed later, as in every URI.
    private func resolve(_ reference: String) -> String {
        let other = URIParts(reference)
        if other.scheme != nil { return reference }
        if other.authority != nil {
            return text.part(0..<((parts.scheme?.upperBound ?? -1) + 1)) + reference
        }
        if other.path.isEmpty {
            let query = other.query == nil ? parts.query : nil
            return text.part(0..<(query ?? parts.path).upperBound) + reference
        }
        if reference.utf8.first == UInt8(ascii: "/") {
            return text.part(0..<parts.path.lowerBound) + reference
        }
        // RFC 3986 §5.2.3.
        if parts.path.isEmpty { return text.part(0..<parts.path.lowerBound) + "/" + reference }
        let folder = text.bytes(parts.path).lastIndex(of: UInt8(ascii: "/"))
        return text[..<(folder.map { text.utf8.index(after: $0) } ?? text.startIndex)] + reference
    }

    // The characters of RFC 3986 §3.3 to §3.5. The first number sign begins the fragment, which
    // contains no other number sign.
    private static let inFragment = PercentEncoding(alsoAllowing: "-._~!$&'()*+,;=:@/?")
    private static let inPath = PercentEncoding(alsoAllowing: "-._~!$&'()*+,;=:@/?#")

    // Encodes only the text after scheme and authority, which have other rules.
    private static func encode(_ reference: String, from start: Int) -> String {
        let bytes = Array(reference.utf8)
        var result = Array(bytes[..<start])
        result.reserveCapacity(bytes.count)
        var allowed = inPath
        for (index, byte) in zip(start..., bytes[start...]) {
            if allowed.allows(byte) || isEscape(bytes, at: index) {
                result.append(byte)
                if byte == UInt8(ascii: "#") { allowed = inFragment }
            } else {
                result += PercentEncoding.escape(byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func isEscape(_ bytes: [UInt8], at index: Int) -> Bool {
        bytes[index] == UInt8(ascii: "%") && index + 2 < bytes.count
            && bytes[(index + 1)...(index + 2)].allSatisfy(Grammar.isHexDigit)
    }

    // MARK: Faults of unreadable text

    static func fault(ofUnreadable text: String) -> String {
        let fault = "the URL cannot be parsed (RFC 3986)"
        let parts = URIParts(text)
        let end = parts.path.lowerBound
        if end > longestAuthority { return fault + ": its host is too long" }
        // The text after the authority is encoded before Foundation parses the text. The code tries
        // each prefix of the text, and therefore does not search a long text.
        guard end <= 300 else { return fault }
        let start = text.part(0..<end)
        if URL(string: start) != nil { return fault }
        let read = start.indices.reversed().first { URL(string: String(start[..<$0])) != nil }
        let place = read.map { start.utf8.distance(from: start.startIndex, to: $0) } ?? 0
        let part =
            switch place {
            case _ where parts.userInformation?.contains(place) == true: ", in its user"
            case _ where parts.port?.contains(place) == true: ", in its port"
            case _ where parts.authority?.contains(place) == true: ", in its host"
            default: ""
            }
        let count = read.map { start.distance(from: start.startIndex, to: $0) } ?? 0
        return fault + ": see character \(count + 1)" + part
    }

    // MARK: Dot segments

    /// The text without dot segments in the path (RFC 3986 §5.2.4), or nil without dot segments.
    ///
    /// Foundation does not remove dot segments from absolute URLs, and a transport may remove them.
    /// With dot segments, cookies, signatures and caches could use another path than the transport.
    /// An escaped dot (`%2e`) stays, because no transport decodes an escaped dot.
    static func removingDotSegments(_ text: String, _ parts: URIParts) -> String? {
        guard parts.authority != nil, parts.mayHaveDotSegments else { return nil }
        let path = text.bytes(parts.path)
        let segments = path.dropFirst().split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        var kept: [Substring.UTF8View] = []
        var isOpen = false
        for segment in segments {
            isOpen = segment.elementsEqual(".".utf8) || segment.elementsEqual("..".utf8)
            if segment.elementsEqual("..".utf8) { _ = kept.popLast() }
            if !isOpen { kept.append(segment) }
        }
        if isOpen { kept.append("".utf8[...]) }
        let joined = "/" + kept.map { String(Substring($0)) }.joined(separator: "/")
        if joined.utf8.count == path.count { return nil }
        return text.part(0..<parts.path.lowerBound) + joined
            + text.part(parts.path.upperBound..<text.utf8.count)
    }
}

/// The parts of a URI reference (RFC 3986 §3 and appendix B), as ranges of bytes.
///
/// No range contains a delimiter, such as the colon after the scheme. A missing part is nil or
/// empty. ``TargetURI`` checks the parts.
struct URIParts: Sendable {
    private(set) var scheme: Range<Int>?
    private(set) var authority: Range<Int>?
    private(set) var userInformation: Range<Int>?
    private(set) var host = 0..<0
    private(set) var isBracketed = false
    private(set) var port: Range<Int>?
    private(set) var path = 0..<0
    private(set) var query: Range<Int>?
    private(set) var fragment: Range<Int>?

    /// Whether the path has a dot after a slash, and may therefore have dot segments.
    private(set) var mayHaveDotSegments = false

    init(_ text: String) {
        var text = text
        self = text.withUTF8 { unsafe URIParts($0) }
    }

    init<Bytes: RandomAccessCollection<UInt8>>(_ bytes: Bytes) where Bytes.Index == Int {
        let colon = bytes.next(from: 0) { Self.endsAuthority($0) || $0 == UInt8(ascii: ":") }
        var place = 0
        if colon < bytes.count, bytes[colon] == UInt8(ascii: ":") {
            scheme = 0..<colon
            place = colon + 1
        }
        if place + 1 < bytes.count, bytes[place] == UInt8(ascii: "/"),
            bytes[place + 1] == UInt8(ascii: "/")
        {
            let start = place + 2
            place = bytes.next(from: start, where: Self.endsAuthority)
            readAuthority(bytes, start..<place)
        }
        let start = place
        var before: UInt8 = 0
        while place < bytes.count {
            let byte = bytes[place]
            if byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") { break }
            if byte == UInt8(ascii: "."), before == UInt8(ascii: "/") { mayHaveDotSegments = true }
            before = byte
            place += 1
        }
        path = start..<place
        if place < bytes.count, bytes[place] == UInt8(ascii: "?") {
            let end = bytes.next(from: place) { $0 == UInt8(ascii: "#") }
            query = (place + 1)..<end
            place = end
        }
        if place < bytes.count { fragment = (place + 1)..<bytes.count }
    }

    // Reads the authority by RFC 3986 §3.2. The delimiters are the last `@`, and the last colon
    // after the `@` and outside the brackets.
    private mutating func readAuthority<Bytes: RandomAccessCollection<UInt8>>(
        _ bytes: Bytes, _ range: Range<Int>
    ) where Bytes.Index == Int {
        authority = range
        var start = range.lowerBound
        var colon: Int?
        for place in range {
            switch bytes[place] {
            case UInt8(ascii: "@"):
                userInformation = range.lowerBound..<place
                start = place + 1
                colon = nil
            case UInt8(ascii: "]"): colon = nil
            case UInt8(ascii: ":"): colon = place
            default: break
            }
        }
        let end = colon ?? range.upperBound
        port = colon.map { ($0 + 1)..<range.upperBound }
        isBracketed = start < range.upperBound && bytes[start] == UInt8(ascii: "[")
        host = isBracketed ? (start + 1)..<max(start + 1, end - 1) : start..<end
    }

    private static func endsAuthority(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
    }
}

extension RandomAccessCollection<UInt8> where Index == Int {
    fileprivate func next(from start: Int, where isFound: (UInt8) -> Bool) -> Int {
        var place = start
        while place < endIndex, !isFound(self[place]) { place += 1 }
        return place
    }
}
