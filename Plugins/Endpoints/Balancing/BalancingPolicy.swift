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
    /// Two draws keep the longest queue exponentially shorter than one, and unlike a search for the
    /// least loaded of all they do not send all clients to the same endpoint at once (Mitzenmacher,
    /// *The Power of Two Choices in Randomized Load Balancing*, 2001). Endpoints are drawn by
    /// weight, and their requests compared per weight. A failed request counts as one under way
    /// that fades within seconds, so that an endpoint that fails at once does not attract requests.
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
