// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeSupport

extension CurlTransport {
    /// Which proxies requests go through.
    public struct ProxyChoice: Sendable {
        enum Kind {
            case direct
            case through(Proxy)
            case variables([String: String])
        }

        let kind: Kind

        /// None.
        public static let direct = Self(kind: .direct)

        /// One for all requests.
        public static func through(_ proxy: Proxy) -> Self { Self(kind: .through(proxy)) }

        /// Those that the environment of the process names now; see ``environment(_:)``.
        public static var environment: Self {
            .environment(ProcessInfo.processInfo.environment)
        }

        /// Those that variables name, by curl's rules.
        ///
        /// `http_proxy`, in small letters alone, holds for http; `https_proxy` or `HTTPS_PROXY` for
        /// https; `all_proxy` or `ALL_PROXY` where the first is not set; an empty variable is as
        /// good as none. `no_proxy` or `NO_PROXY` lists the hosts that are reached directly, with
        /// all that ends in their names, addresses and networks, or is `*`. Without a port, a proxy
        /// is asked at 1080. What is no URL of a proxy is
        /// ``/TurnpikeCore/ClientError/Code/configuration`` when the transport is made.
        public static func environment(_ variables: [String: String]) -> Self {
            Self(kind: .variables(variables))
        }
    }

    /// A proxy.
    public struct Proxy: Sendable {
        /// How to speak to a proxy.
        public enum Scheme: String, Sendable, CaseIterable {
            /// HTTP: `CONNECT` for https, and the whole URL for http.
            case http
            /// SOCKS 5; names are resolved here.
            case socks5
            /// SOCKS 5; names are resolved by the proxy.
            case socks5h
        }

        /// How to speak to it.
        public var scheme: Scheme
        /// Its host.
        public var host: String
        /// Its port.
        public var port: Int
        /// The user, where it wants one.
        public var user: String?
        /// The user's password.
        public var password: String?
        /// Hosts that are reached without it: names, with all that ends in them, and addresses.
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
    /// What was chosen, without users and passwords.
    public var description: String {
        switch kind {
        case .direct: "direct"
        case .through(let proxy): "through \(proxy)"
        case .variables: "environment"
        }
    }

    /// What a dump shows: no more than ``description``.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension CurlTransport.Proxy: CustomStringConvertible, CustomReflectable {
    /// Scheme, host and port.
    public var description: String { "\(scheme.rawValue)://\(authority)" }

    /// What a dump shows: no more than ``description``.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }

    private var authority: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }

    /// The proxy's URL with user and password, as libcurl takes it.
    var curlText: String {
        let encode = PercentEncoding.unreserved.encode
        guard user != nil || password != nil else { return description }
        let secret = password.map { ":" + encode($0) } ?? ""
        return "\(scheme.rawValue)://\(encode(user ?? ""))\(secret)@\(authority)"
    }

    /// The form of the text of a proxy, for messages that say what was expected.
    public static let form =
        "a URL such as http://user:password@host:port, with the scheme http, socks5 or socks5h"

    /// Creates a proxy from a URL, with user and password in it, or nil where it is none.
    /// - Parameters:
    ///   - text: The URL.
    ///   - port: The port where the URL has none; that of HTTP or SOCKS by default.
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
