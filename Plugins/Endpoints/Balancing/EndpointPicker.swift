// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// Chooses members of sets by one rule, and keeps what the rule remembers from one set to the next.
final class EndpointPicker: Sendable {
    private let policy: BalancingPolicy
    // Each side has its own order, so that a share of one does not make gaps in the other.
    private let own: EndpointSequence
    private let others: EndpointSequence

    /// Creates a chooser that continues from the state of another one, if there is one.
    init(_ policy: BalancingPolicy, continuing old: EndpointPicker? = nil) {
        self.policy = policy
        own = old?.own ?? EndpointSequence()
        others = old?.others ?? EndpointSequence()
    }

    /// Chooses a usable member for a request, without taking memory.
    /// - Parameters:
    ///   - set: The members.
    ///   - request: The request, for the key of a hash.
    ///   - now: The time.
    ///   - bits: 64 random bits; equal ones make equal choices.
    ///   - tried: The members that the call has tried; they are avoided while another usable member
    ///     is left.
    /// - Returns: The member and why it was chosen; nil if no member is usable.
    func choose(
        from set: EndpointSet, for request: Request, at now: MonotonicInstant, bits: UInt64,
        avoiding tried: TriedEndpoints = TriedEndpoints()
    ) -> PickResult? {
        var pick = Pick(policy, request, at: now, bits: bits, tried: tried)
        if let result = choose(from: set, &pick) { return result }
        guard tried.count > 0 else { return nil }
        pick = Pick(policy, request, at: now, bits: bits, tried: TriedEndpoints())
        return choose(from: set, &pick).map { PickResult(member: $0.member, reason: .allTried) }
    }

    private func choose(from set: EndpointSet, _ pick: inout Pick) -> PickResult? {
        let isOwn = pick.isWithin(set.ownShare)
        return choose(from: set, &pick, isOwn: isOwn) ?? choose(from: set, &pick, isOwn: !isOwn)
    }

    private func choose(
        from set: EndpointSet, _ pick: inout Pick, isOwn: Bool
    ) -> PickResult? {
        let member =
            isOwn ? set.own.choose(&pick, in: own) : set.others.choose(&pick, in: others)
        return member.map { PickResult(member: $0, reason: isOwn ? .rule : .otherZone) }
    }
}

/// A member that was chosen, and why.
struct PickResult: Sendable {
    enum Reason: Sendable {
        /// The rule chose it, in the own zone if there is one.
        case rule
        /// The rule chose it in another zone.
        case otherZone
        /// The call had tried all usable members before.
        case allTried
    }

    let member: EndpointMember
    let reason: Reason
}

/// The inputs of one choice: the rule, the random number, the time, and the endpoints that the call
/// has tried.
struct Pick {
    let rule: BalancingPolicy.Rule
    /// The hash of the request's key; nil without one, and by other rules.
    let key: UInt64?
    let now: Int64
    let tried: TriedEndpoints
    var dice: SeededGenerator

    init(
        _ policy: BalancingPolicy, _ request: Request, at now: MonotonicInstant, bits: UInt64,
        tried: TriedEndpoints
    ) {
        rule = policy.rule
        key =
            if case .hash(let key) = rule { key(request).map { EndpointHash.of($0) } } else { nil }
        self.now = now.nanoseconds
        self.tried = tried
        dice = SeededGenerator(seed: bits)
    }

    /// Whether the own zone serves the request, if it serves a given share of all requests.
    mutating func isWithin(_ share: Double) -> Bool {
        if share >= 1 { return true }
        // The zone of a key changes only with the share.
        if let key { return EndpointHash.unit(EndpointHash.mixed(~key)) < share }
        return dice.unit() < share
    }

    func hasTried(_ member: EndpointMember) -> Bool { tried.contains(member.key) }

    func hasTried(_ key: UInt64) -> Bool { tried.contains(key) }
}
