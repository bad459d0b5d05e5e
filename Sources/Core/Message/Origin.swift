public import Foundation

/// The origin of a URL (RFC 9110 §4.3.1): scheme, host and port.
///
/// Two URLs with the same origin share connections, credentials, budgets and breakers.
public struct Origin: Hashable, Sendable {
    /// The scheme in lower case.
    public let scheme: String
    /// The host in lower case, as it stands in the URL; an IPv6 address without its brackets.
    public let host: String
    /// The port, filled in from the scheme where the URL has none.
    public let port: Int

    /// Creates an origin from its parts.
    public init(scheme: String, host: String, port: Int) {
        self.scheme = scheme.lowercased()
        self.host = host.lowercased()
        self.port = port
    }

    /// The origin of an http or https URL, or nil for any other.
    public init?(_ url: URL) {
        if let plain = PlainAuthority(url) {
            self.init(plain)
            return
        }
        guard let scheme = url.scheme?.lowercased(), let standard = Self.defaultPort(scheme),
            let host = url.host(percentEncoded: true), !host.isEmpty
        else { return nil }
        self.init(scheme: scheme, host: host, port: url.port ?? standard)
    }

    init(_ plain: PlainAuthority) {
        scheme = plain.isSecure ? "https" : "http"
        host = plain.host
        port = plain.port ?? (plain.isSecure ? 443 : 80)
    }

    /// The port of a scheme (RFC 9110 §4.2), or nil for a scheme that is not http or https.
    public static func defaultPort(_ scheme: String) -> Int? {
        switch scheme {
        case "http": 80
        case "https": 443
        default: nil
        }
    }

    /// Feeds host and port to a hasher; the scheme rarely tells two origins apart that have both.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(host)
        hasher.combine(port)
    }

    /// Whether the port is the scheme's own.
    public var hasDefaultPort: Bool { Self.defaultPort(scheme) == port }

    /// Whether another origin is the same server's, or what it becomes by https: what went to this
    /// one may go there.
    package func isSameOrUpgraded(by other: Origin) -> Bool {
        if self == other { return true }
        let hasMoved = port != other.port && !(hasDefaultPort && other.hasDefaultPort)
        return scheme == "http" && other.scheme == "https" && host == other.host && !hasMoved
    }
}

extension Origin: CustomStringConvertible {
    /// The origin in the form of RFC 6454 §6.2: `https://example.com`, `http://[::1]:8080`.
    public var description: String {
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return hasDefaultPort ? "\(scheme)://\(name)" : "\(scheme)://\(name):\(port)"
    }
}
