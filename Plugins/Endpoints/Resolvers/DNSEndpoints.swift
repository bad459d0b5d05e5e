// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeMiddleware
import TurnpikeSupport

/// The addresses of a name, from both address families, as endpoints.
///
/// The system omits a family in which this machine has no address (`AI_ADDRCONFIG`). The order of
/// an answer is ignored. SRV records are not read. A program with ports and weights can write an
/// ``EndpointFile``.
///
/// The system looks up the name on a separate thread, one lookup at a time. A lookup that exceeds
/// the limit fails. While the system still runs the failed lookup, no second lookup begins.
public final class DNSEndpoints: EndpointResolver {
    private let name: String
    private let port: Int
    private let refresh: Duration
    private let limit: Duration
    private let resolver: any HostResolver

    /// A DNS answer has at most 65,535 bytes, or about 4,000 addresses of each family.
    private static let maxAddresses = 10_000

    /// Creates a resolver for a name.
    /// - Parameters:
    ///   - name: The name, which may differ from the name in the requests' URLs.
    ///   - port: The port of all endpoints.
    ///   - refresh: The time for which an answer is used, at least a second. ``Endpoints`` requests
    ///     the next answer up to a fifth earlier, at a random time.
    ///   - limit: The time limit of a lookup.
    ///   - resolver: Looks up the name, by default with the system and without a cache.
    public init(
        _ name: String, port: Int, refresh: Duration = .seconds(30), limit: Duration = .seconds(5),
        resolver: (any HostResolver)? = nil
    ) {
        self.name = name
        self.port = port
        self.refresh = max(refresh, .seconds(1))
        self.limit = limit
        self.resolver = resolver ?? SystemHostResolver(width: 1, keeping: .zero)
    }

    /// The text "one of the addresses of" and the name.
    public var summary: String { "one of the addresses of \(name)" }

    /// Looks up the name.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/dns`` if the name has no address or more than
    ///   10,000, or if the lookup fails or takes too long;
    ///   ``/TurnpikeCore/ClientError/Code/configuration`` if name or port are not valid.
    public func endpoints(in context: Context) async throws -> EndpointList {
        if let fault = ConnectTarget.host(name, port: port).fault {
            throw ClientError(.configuration, "endpoints from DNS: \(fault)")
        }
        // The addresses are sorted, because equal answers must give equal lists.
        let addresses = Set(try await addresses(in: context)).map(\.description).sorted()
        return EndpointList(addresses.map { Endpoint($0, port: port) }, freshFor: refresh)
    }

    private func addresses(in context: Context) async throws -> [IPAddress] {
        let found: [IPAddress]
        let inner = context.child()
        let late = fault("the lookup has taken longer than \(limit.text)")
        let timer = context.timeSource.schedule(after: limit) { inner.cancel(.expired(late)) }
        defer { timer.cancel() }
        do {
            found = try await resolver.addresses(of: name, context: inner)
        } catch let error as ClientError where error.code == .dns {
            throw fault(error.message, error)
        }
        if found.isEmpty { throw fault("found no address; expected at least one") }
        if found.count > Self.maxAddresses {
            throw fault("found \(found.count) addresses; expected at most \(Self.maxAddresses)")
        }
        return found
    }

    private func fault(_ reason: String, _ cause: ClientError? = nil) -> ClientError {
        let start = "the endpoints of \(name) are not known: "
        if let cause, cause.message.hasPrefix(start) { return cause }
        return ClientError(
            .dns, start + reason, underlying: cause?.underlying,
            transfer: TransferState(.connecting))
    }
}

extension EndpointResolver where Self == DNSEndpoints {
    /// The addresses of a name, as endpoints; see
    /// ``DNSEndpoints/init(_:port:refresh:limit:resolver:)``.
    public static func dns(
        _ name: String, port: Int, refresh: Duration = .seconds(30), limit: Duration = .seconds(5),
        resolver: (any HostResolver)? = nil
    ) -> Self {
        DNSEndpoints(name, port: port, refresh: refresh, limit: limit, resolver: resolver)
    }
}
