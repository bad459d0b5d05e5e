// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// The proxies for http and https, and the hosts that are reached without them.
struct ProxyRoutes: Sendable {
    private(set) var http: CurlTransport.Proxy?
    private(set) var https: CurlTransport.Proxy?
    /// As libcurl takes them.
    private(set) var exceptions = ""

    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` for a variable of the environment
    ///   that is no URL of a proxy.
    init(_ choice: CurlTransport.ProxyChoice) throws {
        switch choice.kind {
        case .direct: break
        case .through(let proxy):
            http = proxy
            https = proxy
            exceptions = proxy.exceptions.joined(separator: ",")
        case .variables(let environment):
            // A server that runs CGI programs sets HTTP_PROXY from a request's field `Proxy`.
            http = try Self.proxy(named: "http_proxy", "all_proxy", "ALL_PROXY", in: environment)
            https = try Self.proxy(
                named: "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", in: environment)
            exceptions = Self.value("no_proxy", "NO_PROXY", in: environment)?.value ?? ""
        }
    }

    /// Whether there are none.
    var isEmpty: Bool { http == nil && https == nil }

    /// Whether all requests go through one.
    var takeAll: Bool { http != nil && https != nil && exceptions.isEmpty }

    /// Returns whether requests for an origin go through a proxy.
    func route(_ origin: Origin) -> Bool {
        guard (origin.scheme == "https" ? https : http) != nil else { return false }
        return exceptions.isEmpty || !ProxyExceptions(exceptions).contain(origin.host)
    }

    // The first that is set.
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
            "found another text in the variable \(name); expected \(CurlTransport.Proxy.form)")
    }
}
