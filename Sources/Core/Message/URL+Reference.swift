package import Foundation

extension URL {
    /// Reads a URI reference (RFC 3986 §4.1) as people and servers write it: what may not stand in
    /// a path, query or fragment is percent-encoded, and an escape stays the escape that it is.
    ///
    /// Foundation alone would encode all escapes of a part once more (`a b%20c` as `a%20b%2520c`)
    /// where a single character of that part is not allowed.
    /// - Parameters:
    ///   - text: The reference.
    ///   - base: What a relative reference is resolved against.
    package init?(reference text: String, relativeTo base: URL? = nil) {
        let reference = ReferenceText(text)
        // Foundation makes letters beyond ASCII those of DNS, in time that grows with the square of
        // their number.
        if reference.hasLongAuthority { return nil }
        self.init(string: reference.encoded, relativeTo: base)
    }
}

/// The text of a reference, whose path, query and fragment are to hold nothing but what they may.
private struct ReferenceText {
    private let text: String

    init(_ text: String) { self.text = text }

    /// Whether the authority is longer than any that is used: a name of DNS has 253 bytes, and may
    /// be written with several for each of them.
    var hasLongAuthority: Bool {
        text.utf8.count > Self.longest && Self.endOfAuthority(Array(text.utf8)) > Self.longest
    }

    private static let longest = 4096

    var encoded: String {
        // Without an escape there is nothing that Foundation could take apart.
        guard text.utf8.contains(UInt8(ascii: "%")) else { return text }
        let bytes = Array(text.utf8)
        let start = Self.endOfAuthority(bytes)
        var result = Array(bytes[..<start])
        var allowed = Self.inPath
        for (index, byte) in zip(start..., bytes[start...]) {
            if byte == UInt8(ascii: "#"), allowed.allows(byte) {
                allowed = Self.inFragment
                result.append(byte)
            } else if allowed.allows(byte) || Self.isEscape(bytes, at: index) {
                result.append(byte)
            } else {
                result += PercentEncoding.escape(byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    // RFC 3986 §3.3 to §3.5; the first number sign begins the fragment, which has none.
    private static let inFragment = PercentEncoding(alsoAllowing: "-._~!$&'()*+,;=:@/?")
    private static let inPath = PercentEncoding(alsoAllowing: "-._~!$&'()*+,;=:@/?#")

    private static func isEscape(_ bytes: [UInt8], at index: Int) -> Bool {
        bytes[index] == UInt8(ascii: "%") && index + 2 < bytes.count
            && bytes[(index + 1)...(index + 2)].allSatisfy(Grammar.isHexDigit)
    }

    // Behind scheme and authority, which have rules of their own; 0 where there is neither.
    private static func endOfAuthority(_ bytes: [UInt8]) -> Int {
        let ends = "/?#".utf8
        var start = 0
        if let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            !bytes[..<colon].contains(where: { ends.contains($0) })
        {
            start = colon + 1
        }
        guard bytes[start...].starts(with: "//".utf8) else { return start }
        return bytes[(start + 2)...].firstIndex { ends.contains($0) } ?? bytes.count
    }
}
