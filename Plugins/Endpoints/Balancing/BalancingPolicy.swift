// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// The rule that chooses an endpoint for a request.
///
/// | rule | suitable for |
/// |---|---|
/// | ``leastRequests`` | most services: long and short requests, servers of different speed |
/// | ``peakEWMA`` | services whose tail latency matters, with endpoints that may be slow |
/// | ``roundRobin`` | short requests of equal cost, and a fair share for each endpoint |
/// | ``weighted`` | shares that do not depend on the load, such as 5 % for a canary |
/// | ``hash(of:)-(HTTPHeaders.Name)`` | endpoints that store data for a key: caches, sessions |
///
/// All rules respect weights, slow starts and zones (``EndpointZone``). As long as the call has not
/// tried all endpoints, a retry or hedge goes to an endpoint without an attempt. Except for the
/// hash, the time of a choice does not depend on the number of endpoints.
public struct BalancingPolicy: Sendable {
    enum Rule: Sendable {
        case leastRequests
        case peakEWMA
        case roundRobin
        case weighted
        case hash(@Sendable (Request) -> String?)
    }

    let rule: Rule

    /// Draws two endpoints at random, and chooses the endpoint with fewer running requests.
    ///
    /// With two draws, the longest queue is exponentially shorter than with one draw. A search for
    /// the least loaded endpoint would send all clients to the same endpoint (Mitzenmacher, *The
    /// Power of Two Choices in Randomized Load Balancing*, 2001). Endpoints are drawn by weight,
    /// and their requests are compared per weight. A failed request counts as a running request for
    /// some seconds. An endpoint that fails at once therefore does not attract requests.
    public static let leastRequests = Self(rule: .leastRequests)

    /// Draws two endpoints at random, and chooses the endpoint with the shorter expected response
    /// time.
    ///
    /// The rule compares the latency of the response head times the number of running requests plus
    /// one. The latency is a moving average that rises to a peak at once and falls with a time
    /// constant of 10 s, as in Finagle's `PeakEwma`. One slow response is therefore enough to avoid
    /// an endpoint. Costs that differ by less than a tenth count as equal, and in this case the
    /// weights decide. An endpoint without a response yet gets one request at a time.
    public static let peakEWMA = Self(rule: .peakEWMA)

    /// Chooses one endpoint after another, with a frequency in proportion to the weight.
    ///
    /// Each client begins at a random endpoint, because clients that start together must not all
    /// begin at the same endpoint. A slow endpoint gets as many requests as the other endpoints.
    public static let roundRobin = Self(rule: .roundRobin)

    /// Chooses a random endpoint, with a probability in proportion to the weight.
    public static let weighted = Self(rule: .weighted)

    /// Chooses the endpoint for a key of the request, such as the user or the path.
    ///
    /// While an endpoint is usable, all requests with the same key go to this endpoint, from each
    /// client and each process. If one of n endpoints is added or removed, only 1/n of all keys
    /// move. Each endpoint gets a share of the keys in proportion to the weight.
    ///
    /// The rule is rendezvous hashing (Thaler and Ravishankar, *Using Name-Based Mappings to
    /// Increase Hit Rates*, 1998). The rule chooses the endpoint with the highest score for the
    /// key, and retries use the next endpoints in the order of scores. Weights follow *Weighted
    /// Distributed Hash Tables* (Schindelhauer and Schomaker, 2005). A slow start does not move
    /// keys. With an ``EndpointZone``, each zone has its own endpoint for a key. A choice among a
    /// thousand endpoints takes some 3 µs.
    ///
    /// The hash has no seed. A person who can choose the keys can direct all requests to one
    /// endpoint.
    /// - Parameter key: Returns the key of a request, or nil. For nil, ``leastRequests`` is used.
    /// - Returns: The rule.
    public static func hash(of key: @escaping @Sendable (Request) -> String?) -> Self {
        Self(rule: .hash(key))
    }

    /// Chooses the endpoint for the value of a header field; see
    /// ``hash(of:)-((Request)->String?)``.
    /// - Parameter field: The name of the field. Requests without this field use ``leastRequests``.
    /// - Returns: The rule.
    public static func hash(of field: HTTPHeaders.Name) -> Self {
        hash { $0.headers[field] }
    }
}

extension BalancingPolicy: CustomStringConvertible {
    /// The name of the rule, as in stack files.
    public var description: String {
        switch rule {
        case .leastRequests: "leastRequests"
        case .peakEWMA: "peakEWMA"
        case .roundRobin: "roundRobin"
        case .weighted: "weighted"
        case .hash: "hash"
        }
    }
}

/// The zone of a client, with the rule for the use of other zones.
///
/// While enough endpoints of the own zone are usable, requests stay in this zone, because traffic
/// between zones is slower and often billed. The rule equals Envoy's locality weights with an
/// overprovisioning factor of 1 / `spill`:
///
/// - `usable` is the share of the own zone's endpoints, by weight, that are listed and not ejected.
/// - The own zone gets min(1, `usable` / `spill`) of the requests. All other endpoints, also those
///   without a zone, share the rest by the rule of the ``BalancingPolicy``.
/// - If only the own zone or only the other zones have endpoints, these endpoints get all requests.
/// - If a call has tried all endpoints of the zone, the next retry or hedge goes to another zone.
///
/// With `spill` 0.7, up to 30 % of the zone may fail before a request leaves the zone. If 35 % of
/// the endpoints are usable, half of the requests leave the zone.
///
/// The endpoints of a zone must be able to serve all clients of that zone.
public struct EndpointZone: Hashable, Sendable {
    /// The name of the own zone, as in ``Endpoint/zone``.
    public let name: String

    /// The share of usable endpoints, up to 1, below which requests leave the zone in proportion.
    ///
    /// With 0, all requests stay in the zone while an endpoint of the zone is usable. A negative
    /// number and NaN count as 0.
    public let spill: Double

    /// Creates a zone.
    public init(_ name: String, spill: Double = 0.7) {
        self.name = name
        self.spill = spill > 0 ? min(spill, 1) : 0
    }

    func ownShare(usable: Double) -> Double { usable > 0 ? min(usable / spill, 1) : 0 }
}

/// The part of many endpoints that a single client of many clients uses.
///
/// A hundred clients with connections to each of five hundred servers have fifty thousand
/// connections, and most of these connections are idle. With a subset, each client uses `size`
/// endpoints, and all endpoints get about the same number of clients.
///
/// The endpoints are evenly spaced on a circle, in the order of a hash of their targets. A client
/// begins at the fractional part of `clientIndex` times the golden ratio, and uses the next `size`
/// endpoints. The choice is deterministic, and clients need not communicate. Number the clients
/// from 0 on without large gaps, as a stateful set numbers the replicas. With this order, the
/// points of the clients are spread almost evenly. One changed endpoint changes at most two
/// endpoints of a client's subset.
///
/// For 300 clients and 300 endpoints with a `size` of 20, each endpoint has 20 clients, plus or
/// minus two. Choose a `size` of 20 or more. A subset of this size can serve the clients even if
/// some endpoints are missing. Weights are ignored. With an ``EndpointZone``, the own zone and the
/// other endpoints have separate circles, and the client uses `size` endpoints of each.
public struct EndpointSubset: Hashable, Sendable {
    /// The maximum number of endpoints that the client uses.
    public let size: Int

    /// The index of the client among all clients of the fleet, from 0 on.
    public let clientIndex: Int

    /// Creates a subset of at least one endpoint.
    public init(size: Int, of clientIndex: Int) {
        self.size = max(size, 1)
        self.clientIndex = clientIndex
    }

    func endpoints(of all: [Endpoint], in zone: EndpointZone?) -> [Endpoint] {
        guard let zone else { return subset(of: Array(all.indices), in: all).map { all[$0] } }
        let own = all.indices.filter { all[$0].zone == zone.name }
        let others = all.indices.filter { all[$0].zone != zone.name }
        let chosen = subset(of: own, in: all) + subset(of: others, in: all)
        return chosen.sorted().map { all[$0] }
    }

    private func subset(of places: [Int], in all: [Endpoint]) -> [Int] {
        guard places.count > size else { return places }
        let circle =
            places
            .map { (key: EndpointMember.key(of: all[$0]), place: $0) }
            .sorted { ($0.key, $0.place) < ($1.key, $1.place) }
        let fraction = UInt64(truncatingIfNeeded: clientIndex) &* EndpointSequence.golden
        let start = Int(fraction.multipliedFullWidth(by: UInt64(circle.count)).high)
        return (0..<size).map { circle[(start + $0) % circle.count].place }.sorted()
    }
}
