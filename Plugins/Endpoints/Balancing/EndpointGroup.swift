// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// The usable endpoints of one side, the own zone or the rest, with what makes a choice cheap.
final class EndpointGroup: Sendable {
    let members: [EndpointMember]

    /// The sum of the weights.
    let weight: Double

    // The weights, relative to their mean; empty if they are all the same.
    private let weights: [Double]
    // The running sums of these; empty if the weights are all the same.
    private let sums: [Double]
    private let keys: [UInt64]
    private let ramp: EndpointRamp

    /// Creates a group.
    ///
    /// Members without a weight are left out, unless none has one: they then count alike.
    init(_ candidates: [EndpointMember], slowStart: Duration) {
        let weighty = candidates.filter { Self.weight(of: $0.endpoint) > 0 }
        members = weighty.isEmpty ? candidates : weighty
        let absolute = members.map { weighty.isEmpty ? 0 : Self.weight(of: $0.endpoint) }
        weight = absolute.reduce(0, +)
        let mean = weight / Double(max(members.count, 1))
        if absolute.allSatisfy({ $0 == absolute[0] }) {
            weights = []
            sums = []
        } else {
            // None vanishes beside the others: whoever divides by it gets a number.
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

    /// Returns the weight of an endpoint as it counts here: a number from 0 to 10⁹, whatever it says.
    static func weight(of endpoint: Endpoint) -> Double {
        endpoint.weight > 0 ? min(endpoint.weight, 1e9) : 0
    }

    /// Chooses a member; nil if the call has tried all.
    func choose(_ turn: inout Pick, in order: EndpointSequence) -> EndpointMember? {
        if members.count < 2 { return members.first.flatMap { turn.hasTried($0) ? nil : $0 } }
        let index: Int? =
            switch turn.rule {
            case .leastRequests:
                better(&turn, unless: 1) { [now = turn.now] member, weight in
                    member.requests(at: now) / weight
                }
            case .peakEWMA:
                better(&turn, unless: 0.9) { [now = turn.now] member, weight in
                    member.cost(per: weight, at: now)
                }
            case .roundRobin:
                accepted(&turn) { turn in place(order.next(&turn.dice)) }
            case .weighted: accepted(&turn) { turn in place(turn.dice.unit()) }
            case .hash(let key): highest(key, turn)
            }
        return index.map { members[$0] }
    }

    // MARK: Places

    /// The member at a fraction of the sum of all weights.
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

    /// The member at a number of the sequence: one after the other if their weights are the same, or
    /// else in an order in which each returns evenly, as often as its weight says.
    private func place(_ number: UInt64) -> Int {
        if sums.isEmpty { return Int(number % UInt64(members.count)) }
        return place(EndpointHash.unit(number &* EndpointSequence.golden))
    }

    /// The first place that the call has not tried and that its slow start admits.
    private func accepted(
        _ turn: inout Pick, _ draw: (inout Pick) -> Int
    ) -> Int? {
        let isRamping = ramp.isRunning(at: turn.now)
        for _ in 0..<32 {
            let index = draw(&turn)
            if turn.hasTried(members[index]) { continue }
            if !isRamping || turn.dice.unit() < ramp.share(index, at: turn.now) { return index }
        }
        return untried(&turn)
    }

    /// A random member by weight of those that the call has not tried, found by looking at all.
    private func untried(_ turn: inout Pick) -> Int? {
        var total = 0.0
        for index in members.indices where !turn.hasTried(members[index]) {
            total += weight(index, at: turn.now)
        }
        var rest = turn.dice.unit() * total
        var last: Int?
        for index in members.indices where !turn.hasTried(members[index]) {
            last = index
            rest -= weight(index, at: turn.now)
            if rest < 0 { break }
        }
        return last
    }

    // The weight as the slow start lowers it.
    private func weight(_ index: Int, at now: Int64) -> Double {
        (weights.isEmpty ? 1 : weights[index]) * ramp.share(index, at: now)
    }

    // MARK: Rules

    /// The first of two different members, unless the second costs less than that part of it.
    ///
    /// The first one is drawn by weight and wins ties, so without load the shares are the weights.
    private func better(
        _ turn: inout Pick, unless part: Double,
        cost: (EndpointMember, _ weight: Double) -> Double
    ) -> Int? {
        let byWeight = { (turn: inout Pick) in self.place(turn.dice.unit()) }
        guard let first = accepted(&turn, byWeight) else { return nil }
        guard let second = other(than: first, &turn, byWeight) else { return first }
        let present = cost(members[first], weight(first, at: turn.now))
        let offer = cost(members[second], weight(second, at: turn.now))
        return offer < present * part ? second : first
    }

    /// Another member that the call has not tried, by weight where that is soon found.
    private func other(
        than first: Int, _ turn: inout Pick, _ draw: (inout Pick) -> Int
    ) -> Int? {
        for _ in 0..<4 {
            let index = draw(&turn)
            if index != first, !turn.hasTried(members[index]) { return index }
        }
        // A heavy member comes again and again: the next one, from a random place on.
        let start = Int(turn.dice.unit() * Double(members.count))
        for step in members.indices {
            let index = (start + step) % members.count
            if index != first, !turn.hasTried(members[index]) { return index }
        }
        return nil
    }

    /// The member with the highest score for a key (weighted rendezvous hashing).
    ///
    /// The scores are exponential times -ln(1 - u) / weight, of which the least wins: each member
    /// wins with a probability in proportion to its weight, whoever else is there.
    private func highest(_ key: UInt64, _ turn: Pick) -> Int? {
        var best: Int?
        if weights.isEmpty {
            var least = UInt64.max
            for index in keys.indices {
                let score = EndpointHash.mixed(key ^ keys[index])
                if score <= least, !turn.hasTried(keys[index]) { (best, least) = (index, score) }
            }
            return best
        }
        var least = Double.infinity
        for index in keys.indices {
            let share = EndpointHash.unit(EndpointHash.mixed(key ^ keys[index]))
            // -ln(1 - u) ≥ u, so most need no logarithm.
            guard share < least * weights[index], !turn.hasTried(keys[index]) else { continue }
            let time = EndpointHash.exponential(share) / weights[index]
            if time < least { (best, least) = (index, time) }
        }
        return best
    }
}

/// The slow starts of a group's members.
///
/// A member that has just come or returned has cold caches and no connections. Its weight grows in
/// proportion to its age, from a tenth at first to all of it at the end of the slow start, as in
/// Envoy. The weights count relative to that of the oldest member: where all are new, none is held
/// back.
struct EndpointRamp: Sendable {
    // When each slow start began; empty if there is none.
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

    /// Whether the slow start of a member has not ended.
    func isRunning(at now: Int64) -> Bool { now < end }

    /// The part of its weight that a member has, relative to the oldest.
    func share(_ index: Int, at now: Int64) -> Double {
        isRunning(at: now) ? part(starts[index], now) / part(oldest, now) : 1
    }

    private func part(_ start: Int64, _ now: Int64) -> Double {
        let age = (Double(now) - Double(start)) / nanoseconds
        return min(max(age, 0.1), 1)
    }
}
