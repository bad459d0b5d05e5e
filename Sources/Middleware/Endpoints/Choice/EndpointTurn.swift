// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// One choice: the rule, the chance, the time, and what the call has tried.
struct EndpointTurn {
    /// The rule, with the hash of the key for that request.
    enum Rule {
        case leastRequests
        case peakEWMA
        case roundRobin
        case weighted
        case hash(UInt64)
    }

    let rule: Rule
    let now: Int64
    let tried: TriedEndpoints
    var dice: SeededGenerator

    init(
        _ choice: EndpointChoice, _ request: Request, at now: MonotonicInstant, bits: UInt64,
        tried: TriedEndpoints
    ) {
        rule =
            switch choice.rule {
            case .leastRequests: .leastRequests
            case .peakEWMA: .peakEWMA
            case .roundRobin: .roundRobin
            case .weighted: .weighted
            case .hash(let key): key(request).map { .hash(EndpointHash.of($0)) } ?? .leastRequests
            }
        self.now = now.nanoseconds
        self.tried = tried
        dice = SeededGenerator(seed: bits)
    }

    /// Whether the own zone is to serve the request, if it serves that share of all.
    mutating func isWithin(_ share: Double) -> Bool {
        if share >= 1 { return true }
        // The zone of a key changes only with the share.
        if case .hash(let key) = rule { return EndpointHash.unit(EndpointHash.mixed(~key)) < share }
        return dice.unit() < share
    }

    func hasTried(_ member: EndpointMember) -> Bool { tried.contains(member.key) }

    func hasTried(_ key: UInt64) -> Bool { tried.contains(key) }
}
