// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// How an endpoint is chosen for a request.
///
/// | rule | suits |
/// |---|---|
/// | ``leastRequests`` | most services: long and short requests, servers of different speed |
/// | ``peakEWMA`` | services whose tail latency matters, with endpoints that may be slow |
/// | ``roundRobin`` | short requests of equal cost, and a fair share for each endpoint |
/// | ``weighted`` | shares that must hold whatever the load, such as 5 % for a canary |
/// | ``hash(of:)-(HTTPHeaders.Name)`` | endpoints that keep something for a key: caches, sessions |
///
/// All rules respect weights, slow starts and zones (``EndpointZone``). A retry or hedge is sent to
/// an endpoint that the call has not tried, as long as there is one. Each rule takes about the same
/// time for ten endpoints and for a thousand, except for the hash, whose time grows with them.
public struct BalancingPolicy: Sendable {
    enum Rule: Sendable {
        case leastRequests
        case peakEWMA
        case roundRobin
        case weighted
        case hash(@Sendable (Request) -> String?)
    }

    let rule: Rule

    /// Draws two endpoints at random, and takes the one with fewer requests under way.
    ///
    /// With two draws, the longest queue is exponentially shorter than with one. A search for the
    /// least loaded endpoint would send all clients to the same one (Mitzenmacher, *The Power of
    /// Two Choices in Randomized Load Balancing*, 2001). Endpoints are drawn by weight, and their
    /// requests compared per weight. A failed request counts as one under way that fades within
    /// seconds, so that an endpoint that fails at once does not attract requests.
    public static let leastRequests = Self(rule: .leastRequests)

    /// Draws two endpoints at random, and takes the one that is expected to answer sooner.
    ///
    /// It compares the latency times the number of requests under way plus one. The latency is a
    /// moving average that rises to a peak at once and falls with a time constant of 10 s, as in
    /// Finagle's `PeakEwma`. It leaves an endpoint that has become slow after a single answer. The
    /// latency is that of the response's head. Costs within a tenth of each other count as equal,
    /// so that weights hold. An endpoint without an answer yet gets one request at a time.
    public static let peakEWMA = Self(rule: .peakEWMA)

    /// One endpoint after the other, each as often as its weight says.
    ///
    /// It begins at a random place, so that many clients that start together do not all begin at
    /// the same endpoint. It ignores the load: a slow endpoint gets as many requests as all others.
    public static let roundRobin = Self(rule: .roundRobin)

    /// A random endpoint, each with a probability in proportion to its weight.
    public static let weighted = Self(rule: .weighted)

    /// The endpoint that belongs to a key of the request, such as its user or its path.
    ///
    /// Requests with the same key go to the same endpoint, from each client and each process, while
    /// that endpoint is usable. If an endpoint comes or goes, only its own keys move: 1/n of all
    /// keys. Each endpoint gets a share of the keys in proportion to its weight.
    ///
    /// It is rendezvous hashing: the endpoint with the highest score for the key wins, and retries
    /// take the next in order (Thaler and Ravishankar, *Using Name-Based Mappings to Increase Hit
    /// Rates*, 1998), with weights as in *Weighted Distributed Hash Tables* (Schindelhauer and
    /// Schomaker, 2005). A slow start does not move keys. With an ``EndpointZone``, each zone has its
    /// own endpoint for a key. The time to choose grows with the endpoints, by some 3 µs for a
    /// thousand.
    ///
    /// The hash has no seed. If strangers can choose the keys, they can send them all to one
    /// endpoint.
    /// - Parameter key: Returns the key of a request. For a request without a key (nil),
    ///   ``leastRequests`` is used.
    /// - Returns: The rule.
    public static func hash(of key: @escaping @Sendable (Request) -> String?) -> Self {
        Self(rule: .hash(key))
    }

    /// The endpoint that belongs to the value of a header field; see
    /// ``hash(of:)-((Request)->String?)``.
    /// - Parameter field: The name of the field. For a request without it, ``leastRequests`` is
    ///   used.
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

/// The zone that a client runs in, and when it uses endpoints of other zones.
///
/// Requests stay in the own zone while it is well enough, since they are faster there, and transfer
/// between zones is often billed. The rule is that of Envoy's locality weights with an
/// overprovisioning factor of 1 / `spill`:
///
/// - `usable` is the share of the own zone's endpoints, by weight, that are in use: listed, and not
///   ejected.
/// - The own zone gets min(1, `usable` / `spill`) of the requests. The other endpoints share the
///   rest, by the rule of the ``BalancingPolicy``, whatever their zones are. Endpoints without a zone
///   are among them.
/// - Endpoints of one side alone get all requests.
/// - A retry or hedge leaves the zone once the call has tried all of its endpoints.
///
/// With `spill` 0.7, up to 30 % of the zone may be lost before a request leaves it. At 35 % usable
/// endpoints, half of the requests do.
///
/// Each client keeps to its zone, so the endpoints of a zone must be able to serve the clients of
/// that zone.
public struct EndpointZone: Hashable, Sendable {
    /// The name of the own zone, as in ``Endpoint/zone``.
    public let name: String

    /// The share of usable endpoints, up to 1, below which requests leave the zone, in proportion.
    ///
    /// 0 keeps them there while one endpoint is left; a negative number and NaN count as 0.
    public let spill: Double

    /// Creates a zone.
    public init(_ name: String, spill: Double = 0.7) {
        self.name = name
        self.spill = spill > 0 ? min(spill, 1) : 0
    }

    /// Returns the share of the requests that stays in the zone, if that share of its endpoints is
    /// usable.
    func ownShare(usable: Double) -> Double { usable > 0 ? min(usable / spill, 1) : 0 }
}

/// The part of a large fleet that one of many clients uses.
///
/// A hundred clients with connections to each of five hundred servers are fifty thousand connections,
/// most of them idle. With a subset each client uses `size` endpoints, and all endpoints get about
/// the same number of clients.
///
/// The endpoints stand on a circle, in the order of a hash of their targets and evenly spaced. A
/// client begins at the fraction of `clientIndex` times the golden ratio, and takes the next `size`
/// endpoints. So the choice is deterministic, needs no word between clients, and suits any number
/// of clients that are numbered from 0 on without large gaps, as the replicas of a stateful set are:
/// such points are spread almost evenly, however many there are. Twitter's deterministic aperture
/// stands on such a circle too, but must know the number of clients; the subsets of the book *Site
/// Reliability Engineering* (chapter 20) are balanced as well, but a single endpoint that comes or
/// goes shuffles them all. Here it changes one or two endpoints of a client's subset at most.
///
/// For 300 clients and 300 endpoints with a `size` of 20, each endpoint has 20 clients, give or take
/// two. Choose a `size` so large that a subset can bear the load of its clients while some of its
/// endpoints are away: 20 or more. Weights are not considered. With an ``EndpointZone``, the own
/// zone and the other endpoints are circles of their own, and the client takes `size` of each.
public struct EndpointSubset: Hashable, Sendable {
    /// How many endpoints the client uses, of fleets that have more.
    public let size: Int

    /// The number of the client among all clients of the fleet, from 0 on.
    public let clientIndex: Int

    /// Creates a subset, of at least one endpoint.
    public init(size: Int, of clientIndex: Int) {
        self.size = max(size, 1)
        self.clientIndex = clientIndex
    }

    /// Returns the endpoints that the client uses, in the order of the list.
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
