// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Distributes the requests below one base URL by weight over groups with other base URLs.
///
/// Requests with the same key go to the same group, from each client and each process. Requests of
/// a call without a key go to one group. If a reload or a new stack changes weights, a key moves
/// only to a group whose weight has grown relative to the weight of the key's old group. If there
/// are two groups, or one weight changes, the smallest possible part of the keys moves. In other
/// cases, the part that moves is less than the sum of the changes of all shares.
///
/// Place the gate inside ``/TurnpikeMiddleware/Redirect``, and outside gates that set credentials,
/// keep cookies, store responses, break circuits or choose endpoints. In this place, these gates
/// see the group's URL, and each group has a separate circuit. A request to a group keeps all
/// fields, including fields with secrets. If the service has TLS, each group must have TLS.
public struct Canary: SynchronousRequestAdapter {
    private let service: ServiceURL
    private let groups: [(url: ServiceURL, weight: Double, hash: UInt64)]
    private let key: @Sendable (Request) -> String?
    /// The fault of the settings, which fails each call, or nil.
    public let fault: ClientError?

    /// Creates a gate.
    /// - Parameters:
    ///   - service: The base URL of the requests.
    ///   - groups: The base URLs of the groups with weights up to 1e9. The base URL of the service
    ///     may be a group too. A group with weight 0 gets no request.
    ///   - key: Returns the key of a request, such as the user.
    public init(
        of service: String, groups: [String: Double],
        key: @escaping @Sendable (Request) -> String? = { _ in nil }
    ) {
        let own = ServiceURL(service)
        self.service = own
        self.key = key
        self.groups = groups.sorted { $0.key < $1.key }.map {
            let url = ServiceURL($0)
            return (url, $1, EndpointHash.of(url.description))
        }
        let weights = groups.values
        let isRight = weights.allSatisfy { 0...1e9 ~= $0 } && weights.contains { $0 > 0 }
        let wrong = "found the weights \(weights); expected 0 to 1e9, and not all 0"
        fault =
            self.groups.lazy.compactMap { own.fault(sendingTo: $0.url) }.first
            ?? (isRight ? nil : ServiceURL.fault(wrong))
    }

    /// Reports the shares of the groups.
    public func facts(for request: Request?) -> GateFacts? {
        let sum = groups.reduce(0) { $0 + $1.weight }
        let shares = groups.map { "\($0.url) (\(($0.weight / sum * 1000).rounded() / 10) %)" }
        let loss = "A redirect to the service's own URL would leave the group."
        let kinds: KeyValuePairs<GateKind, String> = [
            .authentication: "A credential for the service's own origin would go to each group.",
            .cookies: "Cookies of one group would go to the others.",
            .cache: "Responses of one group would be served as those of another.",
            .circuitBreaker: "One circuit would open for all groups if one of them fails.",
            .endpoints: "An endpoint of the service would be used, whatever the group.",
        ]
        let isOther = request.map { service.rest(of: $0) == nil } ?? false
        return GateFacts(
            "sends each request below \(service) to one of \(shares.joined(separator: ", "))",
            order: kinds.map { GateOrder(.outside, $0, because: $1) }
                + [GateOrder(.inside, .redirect, because: loss)],
            passedOver: isOther ? "the request is not below \(service)" : nil)
    }

    /// Changes the URL of the request to the URL of the chosen group.
    public func adapt(_ request: inout Request, context: Context) throws {
        if let fault { throw fault }
        guard let rest = service.rest(of: request) else { return }
        let key = key(request).map(EndpointHash.of)
        guard let group = group(of: key ?? context.random.share.bitPattern) else { return }
        context.report("goes to \(group)", by: gateName, describesPass: true)
        group.move(&request, to: rest)
    }

    /// Returns the group of a key by weighted rendezvous hashing, as in ``BalancingPolicy``.
    func group(of key: UInt64) -> ServiceURL? {
        let times = groups.map { group in
            let share = EndpointHash.unit(EndpointHash.mixed(key ^ group.hash))
            return group.weight > 0 ? EndpointHash.exponential(share) / group.weight : .infinity
        }
        return times.indices.min { times[$0] < times[$1] }.map { groups[$0].url }
    }
}

extension Gate where Self == Canary {
    /// Distributes requests over groups of servers by weight; see ``Canary/init(of:groups:key:)``.
    public static func canary(
        of service: String, groups: [String: Double],
        key: @escaping @Sendable (Request) -> String? = { _ in nil }
    ) -> Self { Canary(of: service, groups: groups, key: key) }
}
