import Foundation
public import TurnpikeCore

/// Decides which URLs a client may send to: schemes, hosts, and the guard against private addresses.
///
/// It is for services that fetch what others name (webhooks, previews, imports), so that nobody
/// reaches the inside of a network through them (server-side request forgery). Place it inside
/// ``Redirect``, so that it sees each hop, and as near to the transport as can be: it judges the URL
/// as the gates outside left it. A forbidden URL fails as
/// ``/TurnpikeCore/ClientError/Code/urlPolicy`` before anything is sent.
///
/// ```swift
/// let client = Client(transport: transport) {
///     Redirect()
///     URLPolicy(denyPrivate: .always)
/// }
/// ```
///
/// The guard knows an address in every spelling (``IPAddress``), names that are local by their form
/// (`localhost`, `*.internal`, names without a dot), and refuses hosts that parsers read in
/// different ways. A name is looked up, off the caller's threads, and refused if one of its
/// addresses is not public (``IPAddress/isPublic``).
///
/// > Important: URLSession looks the name up again for its connection. A name server that answers
/// > differently the second time (DNS rebinding) gets past any check of this kind; only the network
/// > can stop it: a proxy or a firewall for outgoing traffic. See <doc:WhereRequestsMayGo>.
public struct URLPolicy: RequestAdapter {
    /// When addresses that are not public are refused.
    public enum PrivateAddresses: String, Sendable, Hashable, CaseIterable {
        /// Never.
        case never
        /// Where a redirect leads to one; the caller's own URL may.
        case onRedirect
        /// Always.
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
    /// A pattern that is neither a host nor `*.` and a domain lets calls fail as
    /// ``/TurnpikeCore/ClientError/Code/configuration``.
    /// - Parameters:
    ///   - schemes: The schemes that are allowed, in lower case.
    ///   - allowedHosts: The hosts that are allowed; nil is any. They are no exception from
    ///     `denyPrivate`.
    ///   - deniedHosts: Hosts that are refused, also if they are allowed.
    ///   - denyPrivate: When addresses that are not public are refused.
    ///   - resolver: Finds the addresses of names for `denyPrivate`; nil judges names by their form
    ///     alone, for clients behind a proxy that does the rest.
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
                + " write a host without scheme and port, beyond ASCII in punycode, or \"*.domain\""
        }
    }

    /// Refuses a request whose URL is forbidden.
    public func adapt(_ request: inout Request, context: Context) async throws {
        if let fault { throw ClientError(.configuration, fault) }
        // A URL that is broken fails at the last look, with better words.
        guard let origin = request.origin else { return }
        guard schemes.contains(origin.scheme) else {
            throw refusal("the scheme \(origin.scheme) is not allowed")
        }
        let host = HostName(origin.host)
        if deniedHosts.contains(where: { $0.matches(host) }) { throw refusal("the host is denied") }
        if let allowedHosts, !allowedHosts.contains(where: { $0.matches(host) }) {
            throw refusal("the host is not among those that are allowed")
        }
        guard guardsPrivate(request) else { return }
        switch host {
        case .address(let address): try check([address])
        case .unclear: throw refusal("the host is neither clearly a name nor clearly an address")
        case .name(let name):
            if HostName.isLocal(name) { throw refusal("the host's name is a local one") }
            guard let resolver else { return }
            try check(await resolver.addresses(of: name, context: context))
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
            throw refusal("the host is, or has, an address that is not public")
        }
    }

    private func refusal(_ message: String) -> ClientError {
        ClientError(
            .urlPolicy, "the URL policy forbids the request: \(message)",
            transfer: TransferState(.connecting))
    }
}

extension Gate where Self == URLPolicy {
    /// Decides which URLs a client may send to; see
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
