// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// Restricts the URLs of requests, by scheme, by host and by private address.
///
/// Use this gate in services that fetch URLs from others (webhooks, previews, imports). The gate
/// prevents server-side request forgery, in which a URL from others leads to a server inside a
/// private network. Place the gate inside ``Redirect``, because the gate must check each hop. Place
/// the gate as close to the transport as possible, because outer gates may change the URL. If a URL
/// is forbidden, the call fails with ``/TurnpikeCore/ClientError/Code/urlPolicy`` before anything
/// is sent.
///
/// ```swift
/// let client = Client(transport: transport) {
///     Redirect()
///     URLPolicy(denyPrivate: .always)
/// }
/// ```
///
/// The check for private addresses recognizes an address in every spelling
/// (``/TurnpikeCore/IPAddress``). The check also recognizes names with a local form (`localhost`,
/// `*.internal`, names without a dot). The gate refuses hosts that different parsers read in
/// different ways. The gate looks up any other name on separate threads, and refuses the name if
/// one of its addresses is not public (``/TurnpikeCore/IPAddress/isPublic``).
///
/// An allowed request carries the rule (``/TurnpikeCore/AddressRule``) to the transport. A
/// transport with ``/TurnpikeCore/TransportCapabilities/addressRules``, such as `CurlTransport`,
/// applies the rule to the address of its connection. DNS rebinding, in which a name server returns
/// another address for the second lookup, therefore fails. If the request has a connect target
/// (``/TurnpikeCore/RequestOptions/connectTarget``), the gate checks the target in place of the
/// name, and refuses a Unix socket.
///
/// > Important: URLSession looks up the name again for its connection, and applies no rule. With
/// URLSession, only a proxy or a firewall for outgoing traffic prevents DNS rebinding. See
/// <doc:WhereRequestsMayGo>.
public struct URLPolicy: RequestAdapter {
    /// The rule for refusing addresses that are not public.
    public enum PrivateAddresses: String, Sendable, Hashable, CaseIterable {
        /// The gate allows all addresses.
        case never
        /// The gate refuses addresses that are not public only after a redirect. The URL of the
        /// caller may lead to a private address.
        case onRedirect
        /// The gate always refuses addresses that are not public.
        case always
    }

    private let schemes: Set<String>
    private let allowedHosts: [HostPattern]?
    private let deniedHosts: [HostPattern]
    private let denyPrivate: PrivateAddresses
    private let resolver: (any HostResolver)?
    private let fault: String?

    /// Creates a policy.
    ///
    /// If a pattern is neither a host nor `*.` and a domain, calls fail with
    /// ``/TurnpikeCore/ClientError/Code/configuration``.
    /// - Parameters:
    ///   - schemes: The allowed schemes, in lower case.
    ///   - allowedHosts: The allowed hosts; nil allows any host. `denyPrivate` also applies to the
    ///     allowed hosts.
    ///   - deniedHosts: Hosts that are refused, even if `allowedHosts` contains the hosts.
    ///   - denyPrivate: The rule for refusing addresses that are not public.
    ///   - resolver: Resolves names for `denyPrivate`. If nil, the gate checks only the form of a
    ///     name. Use nil with transports that check address rules, or behind a proxy that refuses
    ///     private addresses.
    public init(
        schemes: Set<String> = ["http", "https"], allowedHosts: [HostPattern]? = nil,
        deniedHosts: [HostPattern] = [], denyPrivate: PrivateAddresses = .never,
        resolver: (any HostResolver)? = SystemHostResolver()
    ) {
        self.schemes = schemes
        self.allowedHosts = allowedHosts
        self.deniedHosts = deniedHosts
        self.denyPrivate = denyPrivate
        self.resolver = resolver
        fault = ((allowedHosts ?? []) + deniedHosts).first { !$0.isUsable }.map { pattern in
            "the host pattern \"\(Grammar.escaped(pattern.text))\" of the URL policy matches nothing;"
                + " write a host without scheme and port, in ASCII or punycode, or \"*.domain\""
        }
    }

    /// States that the gate checks URLs, and states whether the gate waits for addresses of hosts.
    public func facts(for request: Request?) -> GateFacts? {
        var facts = GateFacts("refuses forbidden URLs", .checksTarget, .answers(.refusal))
        facts.requiresTLS = !schemes.contains("http")
        if denyPrivate != .never, resolver != nil {
            facts.effects.append(.waits(atMost: nil, reason: "the addresses of the host"))
        }
        return facts
    }

    /// Refuses a request whose URL is forbidden.
    public func adapt(_ request: inout Request, context: Context) async throws {
        if let fault { throw ClientError(.configuration, fault) }
        // A later check refuses an invalid URL with a better message.
        guard let origin = request.origin else { return }
        guard schemes.contains(origin.scheme) else {
            throw refusal("the scheme \(origin.scheme) is not allowed")
        }
        let refusesPrivate = guardsPrivate(request)
        guard refusesPrivate || !deniedHosts.isEmpty || allowedHosts != nil else { return }
        let host = HostName(origin.host)
        if deniedHosts.contains(where: { $0.matches(host) }) { throw refusal("the host is denied") }
        if let allowedHosts, !allowedHosts.contains(where: { $0.matches(host) }) {
            throw refusal("the host is not among the allowed hosts")
        }
        let target = request.options.connectTarget
        let place = if case .host(let name, _) = target { HostName(name) } else { host }
        if target != nil, deniedHosts.contains(where: { $0.matches(place) }) {
            throw refusal("the host of the connect target is denied")
        }
        guard refusesPrivate else { return }
        if case .unixSocket = target { throw refusal("a Unix socket is not a public address") }
        try await judge(place, context)
        let rule = AddressRule.publicAddresses
        request.options.addressRule = request.options.addressRule.map { $0.and(rule) } ?? rule
    }

    private func judge(_ host: HostName, _ context: Context) async throws {
        switch host {
        case .address(let address): try check([address])
        case .unclear: throw refusal("it is unclear whether the host is a name or an address")
        case .name(let name):
            if HostName.isLocal(name) { throw refusal("the host's name is local") }
            guard let resolver else { return }
            let addresses = try await context.report(waitingFor: "addresses of the host") {
                try await resolver.addresses(of: name, context: $0)
            }
            try check(addresses)
        }
    }

    private func guardsPrivate(_ request: Request) -> Bool {
        switch denyPrivate {
        case .never: false
        case .onRedirect: request.options[RedirectTrail.self] != nil
        case .always: true
        }
    }

    private func check(_ addresses: [IPAddress]) throws {
        guard addresses.allSatisfy(\.isPublic) else {
            throw refusal("the host is, or resolves to, an address that is not public")
        }
    }

    private func refusal(_ message: String) -> ClientError {
        ClientError(
            .urlPolicy, "the URL policy forbids the request: \(message)",
            transfer: TransferState(.connecting))
    }
}

extension Gate where Self == URLPolicy {
    /// Restricts the URLs of requests; see
    /// ``URLPolicy/init(schemes:allowedHosts:deniedHosts:denyPrivate:resolver:)``.
    public static func urlPolicy(
        schemes: Set<String> = ["http", "https"], allowedHosts: [HostPattern]? = nil,
        deniedHosts: [HostPattern] = [], denyPrivate: URLPolicy.PrivateAddresses = .never,
        resolver: (any HostResolver)? = SystemHostResolver()
    ) -> Self {
        URLPolicy(
            schemes: schemes, allowedHosts: allowedHosts, deniedHosts: deniedHosts,
            denyPrivate: denyPrivate, resolver: resolver)
    }
}
