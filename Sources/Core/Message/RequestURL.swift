import Foundation

/// A URL as a request holds it, and what its gates and its transport ask it for again and again,
/// read once.
struct RequestURL: Sendable {
    /// The URL without dot segments in its path; a stand-in where there is none.
    let url: URL
    /// What keeps it from being sent, or nil.
    let fault: String?
    // nil for what `URL` itself has to be asked.
    private let plainOrigin: Origin?

    init(_ url: URL) {
        self.url = url.withoutDotSegments
        plainOrigin = PlainAuthority(url).map { Origin($0) }
        fault = plainOrigin == nil ? Self.fault(of: url) : nil
    }

    /// A URL that could not be made.
    init(fault: String) {
        url = Self.standIn
        plainOrigin = nil
        self.fault = fault
    }

    private static let standIn = URL(filePath: "/")

    var origin: Origin? { plainOrigin ?? Origin(url) }

    /// Whether there may be user information.
    var mayHoldUser: Bool { plainOrigin == nil }

    private static func fault(of url: URL) -> String? {
        guard let scheme = url.scheme else {
            return "the URL is relative and the client has no base URL; write https:// and the host"
        }
        guard Origin.defaultPort(scheme.lowercased()) != nil else {
            return "the URL's scheme is neither http nor https"
        }
        guard let host = url.host(percentEncoded: true), !host.isEmpty else {
            return "the URL has no host"
        }
        if let port = url.port, !(1...65535).contains(port) {
            return "the URL's port is not between 1 and 65535"
        }
        return isHost(host) ? nil : "the URL's host is not a name or an address"
    }

    // Names as DNS and the hosts files know them (letters, digits, hyphen, dot, underscore), IPv4,
    // and IPv6, which Foundation has checked and gives without its brackets.
    private static func isHost(_ host: String) -> Bool {
        if host.utf8.contains(UInt8(ascii: ":")) { return true }
        let isMadeOfHostBytes = host.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
            default: Grammar.isAlphanumeric(byte)
            }
        }
        return isMadeOfHostBytes && host.utf8.contains(where: Grammar.isAlphanumeric)
    }
}
