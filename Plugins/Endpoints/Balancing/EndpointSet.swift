// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

struct PickResult: Sendable {
    enum Reason: Sendable {
        /// The rule chose the member in the own zone, or in any zone without an own zone.
        case rule
        /// The rule chose the member in another zone.
        case otherZone
        /// The call had already tried all usable members.
        case allTried
    }

    let member: EndpointMember
    let reason: Reason
}

struct Pick {
    let rule: BalancingPolicy.Rule
    /// The hash of the request's key, or nil without a key.
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

    /// Whether the request goes to the own zone, which gets `share` of all requests.
    mutating func isWithin(_ share: Double) -> Bool {
        if share >= 1 { return true }
        // A key changes its zone only if the share changes.
        if let key { return EndpointHash.unit(EndpointHash.mixed(~key)) < share }
        return dice.unit() < share
    }

    func hasTried(_ key: UInt64) -> Bool { tried.contains(key) }
}

/// The immutable state of a list's members at one moment.
///
/// A change of the list, a change of a member's usability and the begin of a slow start need a new
/// set. The cost is in proportion to the number of members.
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
        // Without weights, the share is the ratio of the numbers of members.
        let isCounted = all.weight == 0
        let part = isCounted ? Double(own.members.count) : own.weight
        let whole = isCounted ? Double(all.members.count) : all.weight
        ownShare = zone.ownShare(usable: whole > 0 ? part / whole : 0)
    }

    /// Chooses a usable member without allocating memory; nil if no member is usable.
    ///
    /// Equal random bits make equal choices. Untried members have priority.
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

/// Hashes that are equal in each process and on each machine.
///
/// Clients that share several caches need equal hashes, but Swift's `Hasher` has a different seed
/// in each process. Without a seed, the keys can direct all requests to one endpoint.
enum EndpointHash {
    /// Returns the FNV-1a hash, mixed until all bits depend on all bytes.
    static func of(_ text: String) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0100_0000_01B3 }
        return mixed(hash)
    }

    /// Mixes the bits with the finalizer of SplitMix64, which is a bijection.
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

/// Consecutive numbers after a random number, shared by all calls.
final class EndpointSequence: Sendable {
    /// 2⁶⁴ divided by the golden ratio.
    ///
    /// The fractional parts of the multiples of this number are spread evenly, from any start
    /// (Weyl; Knuth, *The Art of Computer Programming* 3, §6.4).
    static let golden: UInt64 = 0x9E37_79B9_7F4A_7C15

    // The value is 0 before the first number.
    private let count: Atomic<UInt64>

    init(startingAt first: UInt64 = 0) { count = Atomic(first) }

    /// Returns the next number; the first number and the number after an overflow are random.
    func next(from random: () -> UInt64) -> UInt64 {
        let number = count.wrappingAdd(1, ordering: .relaxed).oldValue
        if number != 0 { return number }
        let first = random()
        // Simultaneous calls have numbers from 1 on.
        count.store(first &+ 1, ordering: .relaxed)
        return first
    }
}
