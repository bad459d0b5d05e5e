// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The host of a URL, in all the ways in which different parsers may read the host.
enum HostName: Hashable {
    case address(IPAddress)
    case name(String)
    /// Different parsers read the text as different addresses, or the text is not valid.
    case unclear

    /// The maximum number of bytes of a name, including a final dot (RFC 1035 §2.3.4).
    static let maxBytes = 254

    init(_ host: String) {
        let text = Self.folded(host)
        if let address = IPAddress(text) {
            self = .address(address)
            return
        }
        let last = text.utf8.split(separator: UInt8(ascii: ".")).last.map { Substring($0) } ?? ""
        let isName = text.utf8.allSatisfy {
            $0 > 0x20 && $0 < 0x7F && !Self.delimiters.contains($0)
        }
        guard isName, !text.isEmpty, !IPAddress.readsAsNumber(last) else {
            self = .unclear
            return
        }
        self = .name(text)
    }

    static func isLocal(_ name: String) -> Bool {
        let labels = name.split(separator: ".")
        guard labels.count > 1, let last = labels.last else { return true }
        return localDomains.contains(String(last)) || name.hasSuffix(".home.arpa")
    }

    // The sources are RFC 6761, RFC 6762, RFC 8375, ICANN's private-use domain, and domains that
    // routers use.
    private static let localDomains: Set<String> = [
        "localhost", "local", "internal", "intranet", "private", "lan", "home", "corp",
        "localdomain",
    ]

    private static let delimiters = Set("%:/\\@?#[]<>|^\"`{}".utf8)

    // Decodes percent-encoding, makes the text lower-case, and drops final dots. Characters beyond
    // ASCII are not mapped (UTS 46); a name with such characters is unclear, and the request is
    // refused.
    private static func folded(_ host: String) -> String {
        var text = host
        if text.utf8.contains(UInt8(ascii: "%")), !text.utf8.contains(UInt8(ascii: ":")) {
            text = PercentEncoding.decode(text) ?? text
        }
        text = text.lowercased()
        while text.utf8.last == UInt8(ascii: ".") { text.removeLast() }
        return text
    }
}
