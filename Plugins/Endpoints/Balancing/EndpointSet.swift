// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

struct PickResult: Sendable {
    enum Reason: Sendable {
        /// The rule chose the member, in the own zone if there is one.
        case rule
        /// The rule chose the member in another zone.
        case otherZone
        /// The call had tried all usable members before.
        case allTried
    }

    let member: EndpointMember
    let reason: Reason
}

struct Pick {
    let rule: BalancingPolicy.Rule
    /// The hash of the request's key; nil without a key, and for rules without keys.
    let key: UInt64?
    let now: Int64
    let tried: [UInt64]
    var dice: SeededGenerator

    init(
        _ policy: BalancingPolicy, _ request: Request, at now: MonotonicInstant, bits: UInt64,
        tried: [UInt64]
    ) {
        rule = policy.rule
        key =
            if case .hash(let key) = rule { key(request).map { EndpointHash.of($0) } } else { nil }
        self.now = now.nanoseconds
        self.tried = tried
        dice = SeededGenerator(seed: bits)
    }

    /// Whether the request goes to the own zone, which gets this share of all requests.
    mutating func isWithin(_ share: Double) -> Bool {
        if share >= 1 { return true }
        // A key changes its zone only if the share changes.
        if let key { return EndpointHash.unit(EndpointHash.mixed(~key)) < share }
        return dice.unit() < share
    }

    func hasTried(_ key: UInt64) -> Bool { tried.contains(key) }
}

/// The members of a list at one moment, some of which are usable; a set never changes.
///
/// If the list changes, a member becomes usable or unusable, or a slow start begins, the gate makes
/// a new set. The cost is in proportion to the number of members.
final class EndpointSet: Sendable {
    private let policy: BalancingPolicy
    /// The usable members of the own zone, or of all zones if there is no own zone.
    let own: EndpointGroup
    let others: EndpointGroup
    private let ownShare: Double

    init(
        _ members: [EndpointMember], _ policy: BalancingPolicy, zone: EndpointZone? = nil,
        slowStart: Duration = .seconds(30), continuing old: EndpointSet? = nil,
        isUsable: (EndpointMember) -> Bool = { _ in true }
    ) {
        self.policy = policy
        let usable = members.filter(isUsable)
        let isOwn = { (member: EndpointMember) in zone.map { $0.name == member.endpoint.zone } }
        own = EndpointGroup(
            usable.filter { isOwn($0) ?? true }, slowStart: slowStart, continuing: old?.own)
        others = EndpointGroup(
            usable.filter { isOwn($0) == false }, slowStart: slowStart, continuing: old?.others)
        guard let zone else {
            ownShare = 1
            return
        }
        let all = EndpointGroup(members.filter { isOwn($0) == true }, slowStart: slowStart)
        // Without weights, the share is that of the numbers of members.
        let isCounted = all.weight == 0
        let part = isCounted ? Double(own.members.count) : own.weight
        let whole = isCounted ? Double(all.members.count) : all.weight
        ownShare = zone.ownShare(usable: whole > 0 ? part / whole : 0)
    }

    /// Chooses a usable member without allocating memory; nil if no member is usable.
    ///
    /// Equal random bits make equal choices. If an untried usable member remains, one is chosen.
    func choose(
        for request: Request, at now: MonotonicInstant, bits: UInt64, avoiding tried: [UInt64] = []
    ) -> PickResult? {
        var pick = Pick(policy, request, at: now, bits: bits, tried: tried)
        if let result = choose(&pick) { return result }
        guard !tried.isEmpty else { return nil }
        pick = Pick(policy, request, at: now, bits: bits, tried: [])
        return choose(&pick).map { PickResult(member: $0.member, reason: .allTried) }
    }

    private func choose(_ pick: inout Pick) -> PickResult? {
        let isOwn = pick.isWithin(ownShare)
        let groups = isOwn ? (own, others) : (others, own)
        guard let member = groups.0.choose(&pick) else {
            return groups.1.choose(&pick)
                .map { PickResult(member: $0, reason: isOwn ? .otherZone : .rule) }
        }
        return PickResult(member: member, reason: isOwn ? .rule : .otherZone)
    }
}

/// Hashes that are the same in each process and on each machine.
///
/// Clients that share a fleet of caches need equal hashes, and Swift's `Hasher` has another seed in
/// each process. Without a seed, anyone who chooses the keys can aim at one endpoint.
enum EndpointHash {
    /// FNV-1a, then mixed so that all bits depend on all bytes.
    static func of(_ text: String) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0100_0000_01B3 }
        return mixed(hash)
    }

    /// The finalizer of SplitMix64, a bijection.
    @inline(__always)
    static func mixed(_ value: UInt64) -> UInt64 {
        var bits = value
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }

    /// A number in 0..<1 from the upper bits of a hash.
    @inline(__always)
    static func unit(_ hash: UInt64) -> Double { Double(hash >> 11) * 0x1p-53 }

    /// Returns -ln(1 - u), which has an exponential distribution if u is uniform in 0..<1.
    static func exponential(_ unit: Double) -> Double { -log1p(-unit) }
}

/// Numbers that follow each other, from a random one on, shared by all calls.
final class EndpointSequence: Sendable {
    /// 2⁶⁴ divided by the golden ratio.
    ///
    /// The fractional parts of its multiples are spread evenly, from any start and in any number
    /// (Weyl; Knuth, *The Art of Computer Programming* 3, §6.4).
    static let golden: UInt64 = 0x9E37_79B9_7F4A_7C15

    // 0 before the first number.
    private let count: Atomic<UInt64>

    init(startingAt first: UInt64 = 0) { count = Atomic(first) }

    /// Returns the next number; the first number and the number after an overflow are random.
    func next(from random: () -> UInt64) -> UInt64 {
        let number = count.wrappingAdd(1, ordering: .relaxed).oldValue
        if number != 0 { return number }
        let first = random()
        // Calls that run at the same time have numbers from 1 on.
        count.store(first &+ 1, ordering: .relaxed)
        return first
    }
}
