// SPDX-License-Identifier: Apache-2.0

public import TurnpikeSupport

/// The origin of a URL (RFC 9110 §4.3.1): scheme, host and port.
///
/// URLs with the same origin share connections, credentials, budgets and breakers.
public struct Origin: Hashable, Sendable {
    /// The scheme in lower case.
    public let scheme: String
    /// The host in lower case, as in the URL; an IPv6 address has no brackets.
    public let host: String
    /// The port of the URL, or the default port of the scheme.
    public let port: Int

    /// Creates an origin from its parts.
    public init(scheme: String, host: String, port: Int) {
        self.scheme = scheme.lowercased()
        self.host = host.lowercased()
        self.port = port
    }

    /// Creates the origin of an http or https URL, or nil for any other URL.
    public init?(_ url: URL) {
        var text = url.absoluteString
        let origin = text.withUTF8 { unsafe Origin($0, URIParts($0)) }
        guard let origin else { return nil }
        self = origin
    }

    init?<Bytes: RandomAccessCollection<UInt8>>(_ bytes: Bytes, _ parts: URIParts)
    where Bytes.Index == Int {
        guard let scheme = parts.scheme.flatMap({ Self.scheme(bytes[$0]) }),
            let standard = Self.defaultPort(scheme), !parts.host.isEmpty
        else { return nil }
        self.scheme = scheme
        host = bytes[parts.host].lowercasedText
        port = parts.port.flatMap { bytes[$0].number } ?? standard
    }

    static func scheme(_ bytes: some RandomAccessCollection<UInt8>) -> String? {
        if bytes.isSpelled("http") { return "http" }
        return bytes.isSpelled("https") ? "https" : nil
    }

    /// The default port of a scheme (RFC 9110 §4.2), or nil if the scheme is not http or https.
    static func defaultPort(_ scheme: String) -> Int? {
        switch scheme {
        case "http": 80
        case "https": 443
        default: nil
        }
    }

    /// Hashes only the host and the port, because the scheme is rarely the only difference.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(host)
        hasher.combine(port)
    }

    var hasDefaultPort: Bool { Self.defaultPort(scheme) == port }

    /// Whether a credential for this origin may be sent to another origin.
    ///
    /// The other origin must be this origin, or have the same host with https instead of http.
    public func isSameOrUpgraded(by other: Origin) -> Bool {
        if self == other { return true }
        let hasMoved = port != other.port && !(hasDefaultPort && other.hasDefaultPort)
        return scheme == "http" && other.scheme == "https" && host == other.host && !hasMoved
    }
}

extension Origin: CustomStringConvertible {
    /// The origin in the form of RFC 6454 §6.2: `https://example.com`, `http://[::1]:8080`.
    public var description: String {
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        let text = scheme + "://" + name
        return hasDefaultPort ? text : text + ":\(port)"
    }
}

extension RandomAccessCollection<UInt8> {
    fileprivate func isSpelled(_ word: StaticString) -> Bool {
        guard count == word.utf8CodeUnitCount else { return false }
        return word.withUTF8Buffer { word in
            unsafe zip(self, word).allSatisfy { Grammar.lowercased($0) == $1 }
        }
    }

    fileprivate var lowercasedText: String {
        unsafe String(unsafeUninitializedCapacity: count) { target in
            var end = 0
            for byte in self {
                unsafe target[end] = Grammar.lowercased(byte)
                end += 1
            }
            return end
        }
    }

    var number: Int? {
        if isEmpty { return nil }
        var number = 0
        for byte in self {
            guard Grammar.isDigit(byte), number < Int.max / 100 else { return nil }
            number = number * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return number
    }
}
