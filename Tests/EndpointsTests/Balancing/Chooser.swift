// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import TurnpikeCore
@testable import TurnpikeEndpoints
@testable import TurnpikeMiddleware

/// A set of members and a chooser, with chance from a seed.
struct Chooser {
    let members: [EndpointMember]
    let policy: BalancingPolicy
    let zone: EndpointZone?
    var set: EndpointSet
    var now = MonotonicInstant(nanoseconds: 1_000_000_000_000)
    private var dice: SeededGenerator

    init(
        _ endpoints: [Endpoint], _ policy: BalancingPolicy, zone: EndpointZone? = nil,
        seed: UInt64 = 1
    ) {
        members = endpoints.map { EndpointMember($0) }
        self.policy = policy
        self.zone = zone
        set = EndpointSet(members, policy, zone: zone)
        dice = SeededGenerator(seed: seed)
    }

    init(weights: [Double], _ policy: BalancingPolicy, seed: UInt64 = 1) {
        self.init(
            weights.indices.map { Self.endpoint($0, weight: weights[$0]) }, policy, seed: seed)
    }

    static func endpoint(_ number: Int, weight: Double = 1, zone: String? = nil) -> Endpoint {
        Endpoint("10.0.\(number / 256).\(number % 256)", port: 8080, weight: weight, zone: zone)
    }

    /// Makes the set anew with those members that are usable.
    mutating func use(_ isUsable: (Int) -> Bool) {
        let usable = Set(members.indices.filter(isUsable).map { members[$0].key })
        set = EndpointSet(
            members, policy, zone: zone, continuing: set, isUsable: { usable.contains($0.key) })
    }

    mutating func pick(
        _ request: Request = Request(.get, "http://users.internal/"),
        avoiding tried: [UInt64] = []
    ) -> PickResult? {
        set.choose(for: request, at: now, bits: dice.next(), avoiding: tried)
    }

    /// How often each member is chosen, in the order of the members.
    ///
    /// With requests under way, each choice beyond that number ends a random one of them.
    mutating func counts(_ count: Int, underWay: Int = 0) -> [Int] {
        let places = Dictionary(
            uniqueKeysWithValues: members.indices.map { (members[$0].key, $0) })
        let request = Request(.get, "http://users.internal/")
        var counts = members.map { _ in 0 }
        var sent: [EndpointMember] = []
        for _ in 0..<count {
            guard let pick = pick(request), let place = places[pick.member.key] else { continue }
            counts[place] += 1
            if underWay == 0 { continue }
            pick.member.begin()
            sent.append(pick.member)
            if sent.count > underWay {
                sent.swapAt(Int(dice.next() % UInt64(sent.count)), sent.count - 1)
                sent.removeLast().end()
            }
        }
        for member in sent { member.end() }
        return counts
    }

    /// The key of the member that serves a key of a request.
    mutating func owner(of key: String) -> UInt64? {
        pick(Request(.get, "http://users.internal/", headers: ["X-Key": key]))?.member.key
    }
}

/// How many choices a test of shares makes, and how near the shares must come.
///
/// A million, within 2 %, if `TURNPIKE_LAW_RUNS` asks for as many runs as `scripts/check` does;
/// else so few that the bound grows in proportion to their chance.
enum Shares {
    static let choices = Law.runs.count >= 10_000 ? 1_000_000 : 60_000
    private static let tolerance = 0.02 * (1_000_000 / Double(choices)).squareRoot()

    static func expect(
        _ counts: [Int], _ wished: [Double], sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let (all, sum) = (Double(counts.reduce(0, +)), wished.reduce(0, +))
        for (place, count) in counts.enumerated() {
            let expected = all * wished[place] / sum
            let isNear = abs(Double(count) - expected) <= tolerance * expected
            #expect(
                isNear, "member \(place): \(count) of \(expected)", sourceLocation: sourceLocation)
        }
    }
}
