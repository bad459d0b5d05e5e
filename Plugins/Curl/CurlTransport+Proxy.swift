// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

extension CurlTransport {
    /// The choice of proxies for requests.
    public struct ProxyChoice: Sendable {
        enum Kind {
            case direct
            case through(Proxy)
            case variables([String: String])
        }

        let kind: Kind

        /// No proxy.
        public static let direct = Self(kind: .direct)

        /// One proxy for all requests.
        public static func through(_ proxy: Proxy) -> Self { Self(kind: .through(proxy)) }

        /// The proxies in the current environment of the process; see ``environment(_:)``.
        public static var environment: Self {
            .environment(ProcessInfo.processInfo.environment)
        }

        /// Returns the proxies in environment variables, by the rules of curl.
        ///
        /// For http, the variable is `http_proxy`, in lower case only. For https, the variable is
        /// `https_proxy` or `HTTPS_PROXY`. If this variable is not set, `all_proxy` or `ALL_PROXY`
        /// is used. An empty variable counts as missing. `no_proxy` or `NO_PROXY` is `*`, or a list
        /// of names (with subdomains), addresses and networks that need no proxy. The default port
        /// of a proxy is 1080. If a proxy URL is invalid, the transport's initializer fails as
        /// ``/TurnpikeCore/ClientError/Code/configuration``.
        public static func environment(_ variables: [String: String]) -> Self {
            Self(kind: .variables(variables))
        }
    }

    /// A proxy.
    public struct Proxy: Sendable {
        /// The protocol of a proxy.
        public enum Scheme: String, Sendable, CaseIterable {
            /// HTTP, with `CONNECT` for https and the absolute URL for http.
            case http
            /// SOCKS 5 with name lookup by the client.
            case socks5
            /// SOCKS 5 with name lookup by the proxy.
            case socks5h
        }

        /// The protocol of the proxy.
        public var scheme: Scheme
        /// The host of the proxy.
        public var host: String
        /// The port of the proxy.
        public var port: Int
        /// The user name, if the proxy needs a user name.
        public var user: String?
        /// The user's password.
        public var password: String?
        /// The names (with subdomains) and addresses of hosts that need no proxy.
        public var exceptions: [String] = []

        /// Creates a proxy.
        public init(_ scheme: Scheme = .http, host: String, port: Int) {
            self.scheme = scheme
            self.host = host
            self.port = port
        }
    }
}

extension CurlTransport.ProxyChoice: CustomStringConvertible, CustomReflectable {
    /// The choice without users and passwords.
    public var description: String {
        switch kind {
        case .direct: "direct"
        case .through(let proxy): "through \(proxy)"
        case .variables: "environment"
        }
    }

    /// A mirror that shows ``description`` in a dump.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension CurlTransport.Proxy: CustomStringConvertible, CustomReflectable {
    /// The scheme, the host and the port.
    public var description: String { "\(scheme.rawValue)://\(authority)" }

    /// A mirror that shows ``description`` in a dump.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }

    private var authority: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }

    /// The proxy's URL with user and password, in libcurl's form.
    var curlText: String {
        let encode = PercentEncoding.unreserved.encode
        guard user != nil || password != nil else { return description }
        let secret = password.map { ":" + encode($0) } ?? ""
        return "\(scheme.rawValue)://\(encode(user ?? ""))\(secret)@\(authority)"
    }

    /// The expected form of a proxy URL, for error messages.
    public static let form =
        "a URL such as http://user:password@host:port, with the scheme http, socks5 or socks5h"

    /// Creates a proxy from a URL, or returns nil if the URL is not valid.
    /// - Parameters:
    ///   - text: The URL, which may contain user and password.
    ///   - port: The port if the URL has none, by default the port of HTTP or SOCKS.
    public init?(_ text: String, port: Int? = nil) {
        guard let components = URLComponents(string: text), let url = components.url,
            TargetURI(url).authorityFault == nil,
            let scheme = components.scheme.flatMap({ Scheme(rawValue: $0.lowercased()) }),
            let host = components.host, !host.isEmpty
        else { return nil }
        let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        let ownPort = components.port ?? port ?? (scheme == .http ? 80 : 1080)
        guard (1...65535).contains(ownPort) else { return nil }
        self.init(scheme, host: bare, port: ownPort)
        user = components.user
        password = components.password
    }
}

struct ProxyRoutes: Sendable {
    private(set) var http: CurlTransport.Proxy?
    private(set) var https: CurlTransport.Proxy?
    /// The hosts that need no proxy, in libcurl's format.
    private(set) var exceptions = ""

    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` if a variable of the environment
    ///   is not the URL of a proxy, or if the host or port of a proxy is not valid.
    init(_ choice: CurlTransport.ProxyChoice) throws {
        switch choice.kind {
        case .direct: break
        case .through(let proxy):
            // libcurl would quote the password in its error.
            guard (1...65535).contains(proxy.port), !proxy.host.isEmpty,
                !proxy.host.utf8.contains(where: { Self.isInvalid($0) })
            else {
                throw ClientError(
                    .configuration, "the proxy has no valid host, or its port is not 1 to 65535")
            }
            http = proxy
            https = proxy
            exceptions = proxy.exceptions.joined(separator: ",")
        case .variables(let environment):
            // HTTP_PROXY is not read, because a CGI server sets HTTP_PROXY from the field `Proxy`.
            http = try Self.proxy(named: "http_proxy", "all_proxy", "ALL_PROXY", in: environment)
            https = try Self.proxy(
                named: "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", in: environment)
            exceptions = Self.value("no_proxy", "NO_PROXY", in: environment)?.value ?? ""
        }
    }

    // The bytes that libcurl refuses in a host.
    private static func isInvalid(_ byte: UInt8) -> Bool {
        byte <= 0x20 || #"/#?!@{}[]\$'"^`*<>=;,"#.utf8.contains(byte)
    }

    var isEmpty: Bool { http == nil && https == nil }

    /// Whether all requests use a proxy.
    var takeAll: Bool { http != nil && https != nil && exceptions.isEmpty }

    func route(_ origin: Origin) -> Bool {
        guard (origin.scheme == "https" ? https : http) != nil else { return false }
        return exceptions.isEmpty || !ProxyExceptions(exceptions).contain(origin.host)
    }

    // Returns the first variable that is set.
    private static func value(
        _ names: String..., in environment: [String: String]
    ) -> (name: String, value: String)? { value(names, in: environment) }

    private static func value(
        _ names: [String], in environment: [String: String]
    ) -> (name: String, value: String)? {
        for name in names {
            if let value = environment[name], !value.isEmpty { return (name, value) }
        }
        return nil
    }

    private static func proxy(
        named names: String..., in environment: [String: String]
    ) throws -> CurlTransport.Proxy? {
        guard let (name, text) = value(names, in: environment) else { return nil }
        let url = text.contains("://") ? text : "http://" + text
        if let proxy = CurlTransport.Proxy(url, port: 1080) { return proxy }
        throw ClientError(
            .configuration,
            "found no proxy in the variable \(name); expected \(CurlTransport.Proxy.form)")
    }
}

/// The hosts that need no proxy, by the rules of `CURLOPT_NOPROXY`.
///
/// An exception is a name with its subdomains, an address, a network such as `10.0.0.0/8`, or `*`
/// for all hosts. libcurl applies the rules. The transport applies the rules before a request with
/// a connect target or an address rule.
struct ProxyExceptions {
    private let text: String

    init(_ text: String) { self.text = text }

    /// Returns whether a host, such as an IPv6 address without brackets, needs no proxy.
    func contain(_ host: String) -> Bool {
        if text == "*" { return true }
        let host = Self.withoutDot(host.lowercased()[...])
        let address = Self.bits(of: host)
        return text.lowercased().split { $0 == "," || $0.isWhitespace }.contains { entry in
            guard let address else { return Self.matches(entry, name: host) }
            return Self.matches(entry, address)
        }
    }

    private static func withoutDot(_ name: Substring) -> Substring {
        name.hasSuffix(".") ? name.dropLast() : name
    }

    private static func matches(_ entry: Substring, name: Substring) -> Bool {
        let entry = withoutDot(entry.hasPrefix(".") ? entry.dropFirst() : entry)
        if entry.isEmpty { return false }
        return name == entry || name.hasSuffix("." + entry)
    }

    private static func matches(_ entry: Substring, _ address: [UInt8]) -> Bool {
        let parts = entry.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let network = bits(of: parts[0]), network.count == address.count else { return false }
        guard parts.count > 1 else { return network == address }
        guard let length = Int(parts[1]), (0...address.count).contains(length) else { return false }
        // In libcurl, a length of 0 means the whole address.
        let count = length == 0 ? address.count : length
        return network.prefix(count) == address.prefix(count)
    }

    // Returns the bits of an address in the usual form, or nil for a name.
    private static func bits(of text: Substring) -> [UInt8]? {
        let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
        let bare = isBracketed ? text.dropFirst().dropLast() : text
        let isIPv6 = bare.contains(":")
        guard isIPv6 || bare.split(separator: ".").count == 4, let address = IPAddress(bare) else {
            return nil
        }
        let radix = isIPv6 ? 16 : 10
        let width = isIPv6 ? 16 : 8
        return "\(address)".split(separator: isIPv6 ? ":" : ".").flatMap { group in
            let value = Int(group, radix: radix) ?? 0
            return (0..<width).reversed().map { UInt8(value >> $0 & 1) }
        }
    }
}
