package import Foundation

/// Host and port as they stand in the text of a URL (RFC 3986 §3.2).
///
/// `URL` says less: it drops the brackets around a host, which make a name an address, and a port
/// beyond its integers.
package struct AuthorityText {
    private let isBracketed: Bool
    // Without brackets.
    private let host: Substring.UTF8View
    private let port: Substring.UTF8View?

    package init(of url: URL) {
        var rest = Substring(url.absoluteString).utf8
        if let start = rest.firstRange(of: "://".utf8) { rest = rest[start.upperBound...] }
        rest = rest.prefix { !"/?#".utf8.contains($0) }
        if let at = rest.lastIndex(of: UInt8(ascii: "@")) { rest = rest[at...].dropFirst() }
        isBracketed = rest.first == UInt8(ascii: "[")
        let end = rest.lastIndex(of: UInt8(ascii: "]")).map { rest.index(after: $0) }
        let colon = rest[(end ?? rest.startIndex)...].lastIndex(of: UInt8(ascii: ":"))
        port = colon.map { rest[$0...].dropFirst() }
        let name = rest[..<(colon ?? rest.endIndex)]
        host = isBracketed ? name.dropFirst().dropLast() : name
    }

    /// Why nothing can be sent there, or nil.
    package var fault: String? {
        if let port, !Self.isPort(port) { return "the URL's port is not between 1 and 65535" }
        let isRight = isBracketed ? Self.isAddress(host) : Self.isName(host)
        return isRight ? nil : "the URL's host is not a name or an address"
    }

    // It may be empty (§3.2.3).
    private static func isPort(_ text: Substring.UTF8View) -> Bool {
        if text.isEmpty { return true }
        guard text.allSatisfy(Grammar.isDigit), let port = Int(Substring(text)) else {
            return false
        }
        return (1...65535).contains(port)
    }

    // IPv6, perhaps with a zone (RFC 6874).
    private static func isAddress(_ host: Substring.UTF8View) -> Bool {
        host.contains(UInt8(ascii: ":")) && IPv6Text.parse(Substring(host)) != nil
    }

    // Names as DNS and the hosts files know them (letters, digits, hyphen, dot, underscore; at most
    // 253 of them, RFC 1035 §2.3.4, and a dot), and IPv4. Foundation has made other letters those of
    // DNS.
    private static func isName(_ host: Substring.UTF8View) -> Bool {
        if host.count > 254 { return false }
        let isMadeOfHostBytes = host.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
            default: Grammar.isAlphanumeric(byte)
            }
        }
        return isMadeOfHostBytes && host.contains(where: Grammar.isAlphanumeric)
    }
}
