import Foundation
import TurnpikeCore

/// A host as some parser on the way to a connection might read it.
package enum HostName: Hashable {
    case address(IPAddress)
    case name(String)
    /// It looks like an address, and parsers differ about which; or like nothing at all.
    case unclear

    /// The most bytes that a name has, with a dot behind it (RFC 1035 §2.3.4).
    static let maxBytes = 254

    package init(_ host: String) {
        let text = Self.folded(host)
        if let address = IPAddress(text) {
            self = .address(address)
            return
        }
        let last = text.utf8.split(separator: UInt8(ascii: ".")).last.map { Substring($0) } ?? ""
        let isName = text.utf8.allSatisfy {
            $0 > 0x20 && $0 < 0x7F && !Self.delimiters.contains($0)
        }
        guard isName, !text.isEmpty, !IPv4Text.isNumeric(last) else {
            self = .unclear
            return
        }
        self = .name(text)
    }

    /// Whether the name is one of the local machine's or network's by its form.
    package static func isLocal(_ name: String) -> Bool {
        let labels = name.split(separator: ".")
        guard labels.count > 1, let last = labels.last else { return true }
        return localDomains.contains(String(last)) || name.hasSuffix(".home.arpa")
    }

    // RFC 6761, RFC 6762, RFC 8375, ICANN's private-use domain, and those that routers make up.
    private static let localDomains: Set<String> = [
        "localhost", "local", "internal", "intranet", "private", "lan", "home", "corp",
        "localdomain",
    ]

    private static let delimiters = Set("%:/\\@?#[]<>|^\"`{}".utf8)

    // Percent-decoded, compatibility forms (full-width and circled digits, letters) and all kinds of
    // dots mapped as UTS 46 maps them, in lower case, without dots at the end.
    private static func folded(_ host: String) -> String {
        var text = host
        if text.utf8.contains(UInt8(ascii: "%")), !text.utf8.contains(UInt8(ascii: ":")) {
            text = text.removingPercentEncoding ?? text
        }
        if !text.utf8.allSatisfy({ $0 < 0x80 }) {
            text = text.precomposedStringWithCompatibilityMapping
            text.unicodeScalars.removeAll { ignored.contains($0) }
            text = String(
                String.UnicodeScalarView(text.unicodeScalars.map { dots.contains($0) ? "." : $0 }))
        }
        text = text.lowercased()
        while text.utf8.last == UInt8(ascii: ".") { text.removeLast() }
        return text
    }

    private static let dots: Set<Unicode.Scalar> = ["\u{3002}", "\u{FF0E}", "\u{FF61}"]
    private static let ignored: Set<Unicode.Scalar> = [
        "\u{AD}", "\u{200B}", "\u{200C}", "\u{200D}", "\u{2060}", "\u{FEFF}",
    ]
}
