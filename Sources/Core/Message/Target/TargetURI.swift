// SPDX-License-Identifier: Apache-2.0

public import TurnpikeSupport

/// The target URI of a request (RFC 9110 §7.1), parsed once.
///
/// The text has no dot segments in the path (RFC 3986 §5.2.4). All other bytes of the text are the
/// bytes of the original URL.
public struct TargetURI: Sendable {
    /// The URI as Foundation's type, or a placeholder if the URI is not valid.
    public let url: URL
    /// The origin, or nil without a host or with a scheme other than http and https.
    public let origin: Origin?
    /// The absolute text, including any secrets.
    public let text: String
    let parts: URIParts
    /// The reason why no request can be sent to the URI, or nil.
    let fault: String?

    /// Reads a URL.
    public init(_ url: URL) {
        let text = url.absoluteString
        let parts = URIParts(text)
        guard let shorter = Self.removingDotSegments(text, parts),
            let changed = URL(string: shorter)
        else {
            self.init(url, text, parts)
            return
        }
        self.init(changed, shorter, URIParts(shorter))
    }

    private init(_ url: URL, _ text: String, _ parts: URIParts) {
        self.url = url
        self.parts = parts
        var text = text
        (origin, fault) = text.withUTF8 {
            unsafe (Origin($0, parts), Self.fault($0, parts))
        }
        self.text = text
    }

    init(fault: String) {
        url = Self.standIn
        text = Self.standIn.absoluteString
        parts = URIParts(text)
        origin = nil
        self.fault = fault
    }

    private static let standIn = URL(filePath: "/")

    // MARK: Forms

    /// The absolute form (RFC 9112 §3.2.2), without user information and fragment.
    public var absoluteForm: String {
        let end = parts.query?.upperBound ?? parts.path.upperBound
        guard let user = parts.userInformation else {
            return parts.fragment == nil ? text : text.part(0..<end)
        }
        return text.part(0..<user.lowerBound) + text.part((user.upperBound + 1)..<end)
    }

    /// The origin form (RFC 9112 §3.2.1): the path, which is at least a slash, and the query.
    public var originForm: String {
        let end = parts.query?.upperBound ?? parts.path.upperBound
        let form = text.part(parts.path.lowerBound..<end)
        return parts.path.isEmpty ? "/" + form : form
    }

    /// The percent-encoded path of the text, which may be empty.
    public var path: String { text.part(parts.path) }

    /// The user and the password of the text (RFC 3986 §3.2.1), or nil.
    public var userInformation: String? {
        parts.userInformation.map { text.part($0) }
    }

    var isOriginAlone: Bool { parts.path.isEmpty && parts.query == nil }

    // MARK: Validity

    private static func fault<Bytes: RandomAccessCollection<UInt8>>(
        _ bytes: Bytes, _ parts: URIParts
    ) -> String? where Bytes.Index == Int {
        guard let scheme = parts.scheme, !scheme.isEmpty else {
            return "the URL is relative and the client has no base URL; write https:// and the host"
        }
        guard Origin.scheme(bytes[scheme]) != nil else {
            return "the URL's scheme is neither http nor https" + otherScheme(bytes, scheme, parts)
        }
        if parts.host.isEmpty { return "the URL has no host" }
        return authorityFault(bytes, parts)
    }

    // The scheme is quoted only before an authority, because text before a colon may also be a host
    // or a user.
    private static func otherScheme<Bytes: RandomAccessCollection<UInt8>>(
        _ bytes: Bytes, _ scheme: Range<Int>, _ parts: URIParts
    ) -> String where Bytes.Index == Int {
        guard parts.authority != nil, scheme.count <= 20, bytes[scheme].allSatisfy(isInScheme)
        else {
            return "; write https:// and the host"
        }
        return " but " + String(decoding: bytes[scheme], as: UTF8.self)
    }

    static func isInScheme(_ byte: UInt8) -> Bool {
        Grammar.isAlphanumeric(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: ".")
    }

    /// The fault of the host or the port, or nil; the scheme may be any scheme.
    public var authorityFault: String? { Self.authorityFault(Array(text.utf8), parts) }

    private static func authorityFault<Bytes: RandomAccessCollection<UInt8>>(
        _ bytes: Bytes, _ parts: URIParts
    ) -> String? where Bytes.Index == Int {
        if let port = parts.port, !isPort(bytes[port]) {
            return "the URL's port is not between 1 and 65535"
        }
        let host = bytes[parts.host]
        let isRight = parts.isBracketed ? isAddress(host) : isName(host)
        if isRight { return nil }
        let place = parts.isBracketed ? nil : host.firstIndex { !isInName($0) }
        return "the URL's host is not a name or an address"
            + (place.map { ": see its character \($0 - host.startIndex + 1)" } ?? "")
    }

    // A port may be empty (RFC 3986 §3.2.3).
    private static func isPort(_ digits: some RandomAccessCollection<UInt8>) -> Bool {
        digits.isEmpty || digits.number.map { (1...65535).contains($0) } ?? false
    }

    // Whether the host is an IPv6 address, which may have a zone (RFC 6874).
    private static func isAddress(_ host: some RandomAccessCollection<UInt8>) -> Bool {
        host.contains(UInt8(ascii: ":"))
            && IPv6Text.parse(String(decoding: host, as: UTF8.self)) != nil
    }

    // Whether the host is an IPv4 address or a name of DNS or a hosts file (letters, digits,
    // hyphen, dot, underscore; at most 253, RFC 1035 §2.3.4, and a dot). Foundation has already
    // converted other letters for DNS.
    private static func isName(_ host: some RandomAccessCollection<UInt8>) -> Bool {
        host.count <= 254 && host.allSatisfy(isInName)
            && host.contains(where: Grammar.isAlphanumeric)
    }

    private static func isInName(_ byte: UInt8) -> Bool {
        Grammar.isAlphanumeric(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
            || byte == UInt8(ascii: "_")
    }
}

extension String {
    /// The text between two byte positions, which must not be inside a character.
    func part(_ range: Range<Int>) -> String {
        let part = unsafe utf8.withContiguousStorageIfAvailable {
            unsafe String(decoding: UnsafeBufferPointer(rebasing: $0[range]), as: UTF8.self)
        }
        return part ?? String(Substring(bytes(range)))
    }

    func bytes(_ range: Range<Int>) -> Substring.UTF8View {
        let start = utf8.index(startIndex, offsetBy: range.lowerBound)
        return utf8[start..<utf8.index(start, offsetBy: range.count)]
    }
}

extension TargetURI {
    /// The URI without user information.
    public var withoutUserInformation: TargetURI {
        guard let user = parts.userInformation else { return self }
        return changed(
            text.part(0..<user.lowerBound)
                + text.part((user.upperBound + 1)..<text.utf8.count))
    }

    /// The URI with the scheme https; the port 80 is removed.
    public var overTLS: TargetURI {
        guard let scheme = parts.scheme, let authority = parts.authority else { return self }
        let isOwn = parts.port.flatMap { Int(text.part($0)) } == 80
        let end = isOwn ? parts.port.map { $0.lowerBound - 1 } : nil
        return changed(
            "https" + text.part(scheme.upperBound..<(end ?? authority.upperBound))
                + text.part(authority.upperBound..<text.utf8.count))
    }

    /// Returns the URI as the target of a redirect, with the scheme in lower case and, if it has no
    /// fragment, the fragment of the other URI (RFC 9110 §10.2.2).
    public func redirected(from other: TargetURI) -> TargetURI {
        guard let scheme = parts.scheme else { return self }
        let inherited = parts.fragment == nil ? other.parts.fragment : nil
        return changed(
            text.part(scheme).lowercased() + text.part(scheme.upperBound..<text.utf8.count)
                + (inherited.map { "#" + other.text.part($0) } ?? ""))
    }

    func appending(encodedQuery: String) -> TargetURI {
        if encodedQuery.isEmpty || fault != nil { return self }
        let end = parts.query?.upperBound ?? parts.path.upperBound
        let isOpen = parts.query.map { query in
            query.isEmpty || text.bytes(query).last == UInt8(ascii: "&")
        }
        let separator = isOpen.map { $0 ? "" : "&" } ?? "?"
        return changed(
            text.part(0..<end) + separator + encodedQuery
                + text.part(end..<text.utf8.count))
    }

    /// Returns the URI with the items of a query, which replace all items with the same names.
    public func replacing(_ query: Query) -> TargetURI {
        if fault != nil { return self }
        let names = Set(query.items.map(\.name))
        let kept = (parts.query.map { text.part($0) } ?? "").split(separator: "&").filter { item in
            let name = String(item.prefix { $0 != "=" })
            return !names.contains(PercentEncoding.decode(name) ?? name)
        }
        let start = text.part(0..<parts.path.upperBound)
        let fragment = parts.fragment.map { "#" + text.part($0) } ?? ""
        let joined = kept.joined(separator: "&")
        return changed(start + (joined.isEmpty ? "" : "?" + joined) + fragment)
            .appending(encodedQuery: query.encoded)
    }

    var asDirectory: TargetURI {
        if text.bytes(parts.path).last == UInt8(ascii: "/") { return self }
        return changed(text.part(0..<parts.path.upperBound) + "/")
    }

    var withoutPath: TargetURI { changed(text.part(0..<parts.path.lowerBound)) }

    private func changed(_ text: String) -> TargetURI {
        if text.utf8.count == self.text.utf8.count, Grammar.areSame(text, self.text) { return self }
        guard let url = URL(string: text) else {
            return TargetURI(fault: Self.fault(ofUnreadable: text))
        }
        return TargetURI(url)
    }
}
