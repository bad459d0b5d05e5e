// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// The usable endpoints of the own zone or of all other zones, with data for fast choices.
final class EndpointGroup: Sendable {
    let members: [EndpointMember]

    let weight: Double

    // The weights relative to the mean weight. The array is empty if all weights are equal.
    private let weights: [Double]
    private let sums: [Double]
    private let keys: [UInt64]
    private let ramp: EndpointRamp
    // Each group has its own sequence, because requests to other groups must not cause gaps.
    private let order: EndpointSequence

    // Creates a group of the members with a weight. Without any weight, all members count alike.
    init(
        _ candidates: [EndpointMember], slowStart: Duration, continuing old: EndpointGroup? = nil
    ) {
        order = old?.order ?? EndpointSequence()
        let weighty = candidates.filter { Self.weight(of: $0.endpoint) > 0 }
        members = weighty.isEmpty ? candidates : weighty
        let absolute = members.map { weighty.isEmpty ? 0 : Self.weight(of: $0.endpoint) }
        weight = absolute.reduce(0, +)
        let mean = weight / Double(max(members.count, 1))
        if absolute.allSatisfy({ $0 == absolute[0] }) {
            weights = []
            sums = []
        } else {
            // The lower limit prevents a division by zero.
            weights = absolute.map { max($0 / mean, 1e-12) }
            var sum = 0.0
            sums = weights.map {
                sum += $0
                return sum
            }
        }
        keys = members.map(\.key)
        ramp = EndpointRamp(members, slowStart)
    }

    /// The weight of an endpoint, limited to a number from 0 to 10⁹.
    static func weight(of endpoint: Endpoint) -> Double {
        endpoint.weight > 0 ? min(endpoint.weight, 1e9) : 0
    }

    func choose(_ pick: inout Pick) -> EndpointMember? {
        if members.count < 2 { return members.first.flatMap { pick.hasTried($0.key) ? nil : $0 } }
        let index: Int? =
            switch pick.rule {
            case .peakEWMA:
                better(&pick, unless: 0.9) { [now = pick.now] member, weight in
                    member.cost(per: weight, at: now)
                }
            case .roundRobin:
                accepted(&pick) { pick in place(order.next { pick.dice.next() }) }
            case .weighted: accepted(&pick) { pick in place(pick.dice.unit()) }
            case .hash where pick.key != nil: highest(pick)
            case .leastRequests, .hash:
                better(&pick, unless: 1) { [now = pick.now] member, weight in
                    member.requests(at: now) / weight
                }
            }
        return index.map { members[$0] }
    }

    // MARK: Positions

    private func place(_ fraction: Double) -> Int {
        let last = members.count - 1
        guard !sums.isEmpty else { return min(Int(fraction * Double(members.count)), last) }
        let target = fraction * sums[last]
        var (low, high) = (0, last)
        while low < high {
            let middle = (low + high) / 2
            if sums[middle] > target { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// The index of the member for a number of the sequence, in proportion to the weights.
    private func place(_ number: UInt64) -> Int {
        if sums.isEmpty { return Int(number % UInt64(members.count)) }
        return place(EndpointHash.unit(number &* EndpointSequence.golden))
    }

    /// Returns the first drawn index that the call has not tried and the slow start admits.
    private func accepted(
        _ pick: inout Pick, _ draw: (inout Pick) -> Int
    ) -> Int? {
        let isRamping = ramp.isRunning(at: pick.now)
        for _ in 0..<32 {
            let index = draw(&pick)
            if pick.hasTried(keys[index]) { continue }
            if !isRamping || pick.dice.unit() < ramp.share(index, at: pick.now) { return index }
        }
        return untried(&pick)
    }

    /// Returns a random untried member by weight, after a search through all members.
    private func untried(_ pick: inout Pick) -> Int? {
        var total = 0.0
        for index in members.indices where !pick.hasTried(keys[index]) {
            total += weight(index, at: pick.now)
        }
        var rest = pick.dice.unit() * total
        var last: Int?
        for index in members.indices where !pick.hasTried(keys[index]) {
            last = index
            rest -= weight(index, at: pick.now)
            if rest < 0 { break }
        }
        return last
    }

    private func weight(_ index: Int, at now: Int64) -> Double {
        (weights.isEmpty ? 1 : weights[index]) * ramp.share(index, at: now)
    }

    // MARK: Rules

    /// Draws two members, and returns the second if it costs less than `part` of the first's cost.
    ///
    /// The first member is drawn by weight and wins ties. Without load, the shares equal the
    /// weights.
    private func better(
        _ pick: inout Pick, unless part: Double,
        cost: (EndpointMember, _ weight: Double) -> Double
    ) -> Int? {
        let byWeight = { (pick: inout Pick) in self.place(pick.dice.unit()) }
        guard let first = accepted(&pick, byWeight) else { return nil }
        guard let second = other(than: first, &pick, byWeight) else { return first }
        let present = cost(members[first], weight(first, at: pick.now))
        let offer = cost(members[second], weight(second, at: pick.now))
        return offer < present * part ? second : first
    }

    /// Returns another untried member, drawn by weight if possible.
    private func other(
        than first: Int, _ pick: inout Pick, _ draw: (inout Pick) -> Int
    ) -> Int? {
        for _ in 0..<4 {
            let index = draw(&pick)
            if index != first, !pick.hasTried(keys[index]) { return index }
        }
        // Because draws may repeat a heavy member, a search starts at a random index.
        let start = Int(pick.dice.unit() * Double(members.count))
        for step in members.indices {
            let index = (start + step) % members.count
            if index != first, !pick.hasTried(keys[index]) { return index }
        }
        return nil
    }

    /// Returns the member with the highest score for a key (weighted rendezvous hashing).
    ///
    /// The score is an exponential time, -ln(1 - u) / weight, and the lowest time wins. The
    /// probability of a win is therefore in proportion to the weight.
    private func highest(_ pick: Pick) -> Int? {
        guard let key = pick.key else { return nil }
        var best: Int?
        if weights.isEmpty {
            var least = UInt64.max
            for index in keys.indices {
                let score = EndpointHash.mixed(key ^ keys[index])
                if score <= least, !pick.hasTried(keys[index]) { (best, least) = (index, score) }
            }
            return best
        }
        var least = Double.infinity
        for index in keys.indices {
            let share = EndpointHash.unit(EndpointHash.mixed(key ^ keys[index]))
            // Because -ln(1 - u) ≥ u, most members need no logarithm.
            guard share < least * weights[index], !pick.hasTried(keys[index]) else { continue }
            let time = EndpointHash.exponential(share) / weights[index]
            if time < least { (best, least) = (index, time) }
        }
        return best
    }
}

/// The slow starts of a group's members.
///
/// A new or returned member has cold caches and no connections. As in Envoy, the weight grows in
/// proportion to the age, from a tenth to the full value at the end of the slow start. The weights
/// are relative to the weight of the oldest member. If all members are new, all have full weight.
struct EndpointRamp: Sendable {
    // The times when the slow starts began. The array is empty without slow starts.
    private let starts: [Int64]
    private let oldest: Int64
    private let end: Int64
    private let nanoseconds: Double

    init(_ members: [EndpointMember], _ time: Duration) {
        nanoseconds = time / .nanoseconds(1)
        let starts = members.map(\.start)
        oldest = starts.min() ?? .min
        let newest = starts.max() ?? .min
        let isNeeded = newest > oldest && nanoseconds >= 1
        self.starts = isNeeded ? starts : []
        end =
            isNeeded
            ? MonotonicInstant(nanoseconds: newest).advanced(by: time).nanoseconds : .min
    }

    func isRunning(at now: Int64) -> Bool { now < end }

    func share(_ index: Int, at now: Int64) -> Double {
        isRunning(at: now) ? part(starts[index], now) / part(oldest, now) : 1
    }

    private func part(_ start: Int64, _ now: Int64) -> Double {
        let age = (Double(now) - Double(start)) / nanoseconds
        return min(max(age, 0.1), 1)
    }
}
