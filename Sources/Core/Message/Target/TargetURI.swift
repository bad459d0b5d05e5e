// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TurnpikeSupport

/// The target URI of a request (RFC 9110 §7.1), parsed once.
///
/// The text has no dot segments in its path (RFC 3986 §5.2.4). All its other bytes are those of the
/// URL that it was made of.
public struct TargetURI: Sendable {
    /// The URI as Foundation's type.
    ///
    /// If there is no valid URI, it is a stand-in.
    public let url: URL
    /// The origin, or nil if the scheme is not http or https or if there is no host.
    public let origin: Origin?
    /// The absolute text.
    package let text: String
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

    /// Creates a stand-in for a URI that is not valid.
    init(fault: String) {
        url = Self.standIn
        text = Self.standIn.absoluteString
        parts = URIParts(text)
        origin = nil
        self.fault = fault
    }

    private static let standIn = URL(filePath: "/")

    // MARK: Forms

    /// The absolute form (RFC 9112 §3.2.2) without user information and fragment, which are not
    /// sent.
    public var absoluteForm: String {
        let end = parts.query?.upperBound ?? parts.path.upperBound
        guard let user = parts.userInformation else {
            return parts.fragment == nil ? text : text.part(0..<end)
        }
        return text.part(0..<user.lowerBound) + text.part((user.upperBound + 1)..<end)
    }

    /// The origin form (RFC 9112 §3.2.1): path and query, the path at least a slash.
    public var originForm: String {
        let end = parts.query?.upperBound ?? parts.path.upperBound
        let form = text.part(parts.path.lowerBound..<end)
        return parts.path.isEmpty ? "/" + form : form
    }

    /// The path as it stands in the text, percent-encoded; it may be empty.
    public var path: String { text.part(parts.path) }

    /// User and password as they stand in the text (RFC 3986 §3.2.1), or nil.
    public var userInformation: String? {
        parts.userInformation.map { text.part($0) }
    }

    /// Whether there is neither a path nor a query.
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

    // What stands in front of a colon may be a host or a user: only what is a scheme (RFC 3986 §3.1),
    // with an authority behind it, is named.
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

    /// What is wrong with the host or the port, or nil.
    ///
    /// The scheme may be any, such as a proxy's.
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

    // It may be empty (RFC 3986 §3.2.3).
    private static func isPort(_ digits: some RandomAccessCollection<UInt8>) -> Bool {
        digits.isEmpty || digits.number.map { (1...65535).contains($0) } ?? false
    }

    // IPv6, perhaps with a zone (RFC 6874).
    private static func isAddress(_ host: some RandomAccessCollection<UInt8>) -> Bool {
        host.contains(UInt8(ascii: ":"))
            && IPv6Text.parse(String(decoding: host, as: UTF8.self)) != nil
    }

    // Names as DNS and the hosts files know them (letters, digits, hyphen, dot, underscore; at most
    // 253 of them, RFC 1035 §2.3.4, and a dot), and IPv4. Foundation has made other letters those of
    // DNS.
    private static func isName(_ host: some RandomAccessCollection<UInt8>) -> Bool {
        host.count <= 254 && host.allSatisfy(isInName)
            && host.contains(where: Grammar.isAlphanumeric)
    }

    private static func isInName(_ byte: UInt8) -> Bool {
        Grammar.isAlphanumeric(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
            || byte == UInt8(ascii: "_")
    }
}

extension TargetURI: DescriptionReflectable {
    /// The URI without secrets.
    public var description: String { redacted(.standard) }

    func redacted(_ redaction: Redaction) -> String {
        fault == nil ? redaction.url(text) : "(invalid URL)"
    }
}

extension String {
    /// The text between two positions of bytes, at which no character is cut.
    func part(_ range: Range<Int>) -> String {
        let part = unsafe utf8.withContiguousStorageIfAvailable {
            unsafe String(decoding: UnsafeBufferPointer(rebasing: $0[range]), as: UTF8.self)
        }
        return part ?? String(Substring(bytes(range)))
    }

    /// The bytes between two positions.
    func bytes(_ range: Range<Int>) -> Substring.UTF8View {
        let start = utf8.index(startIndex, offsetBy: range.lowerBound)
        return utf8[start..<utf8.index(start, offsetBy: range.count)]
    }
}
