// SPDX-License-Identifier: Apache-2.0

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

    /// The number of the client among all clients of the fleet.
    public let clientIndex: Int

    /// Creates a subset.
    /// - Parameters:
    ///   - size: How many endpoints the client uses; at least 1.
    ///   - clientIndex: The number of the client, from 0 on.
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
