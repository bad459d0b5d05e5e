// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

final class Waiter: Sendable {
    let rank: WaitingLine.Rank
    let precedence: Precedence
    /// The origin of the permit for which the call waits, or nil.
    let origin: Origin?
    /// Whether this call is the first in line, and the log reports waiting calls.
    let beginsLine: Bool
    let cost: Int
    /// The deadline of the call, or nil.
    let deadline: MonotonicInstant?
    let turn = OneShot<Void>()

    init(
        _ rank: WaitingLine.Rank, _ precedence: Precedence, origin: Origin? = nil,
        beginsLine: Bool = false, cost: Int = 1, deadline: MonotonicInstant? = nil
    ) {
        self.rank = rank
        self.precedence = precedence
        self.origin = origin
        self.beginsLine = beginsLine
        self.cost = cost
        self.deadline = deadline
    }
}

/// Calls that wait for their turn.
///
/// Any call may leave the line. Calls of higher classes start first. Within a class, each key has
/// one turn in a round. Without keys, calls start in the order of arrival. The oldest call starts
/// next as soon as later calls have taken ``patience`` times the permits of the oldest call. This
/// rule uses at most one permit in 20, and every call starts at some time. If all calls have equal
/// costs, a call waits for at most 20 turns for each earlier call and 20 turns for the call itself.
struct WaitingLine {
    /// The maximum number of turns for which a call waits in a line of `queue` calls.
    static func mostTurns(of request: Request?, queue: Int, takesTurns: Bool) -> Int64 {
        // Only calls of other callers overtake a call of the highest class.
        let isOvertaken = takesTurns || request?.options.criticality != .critical
        let (turns, overflows) = Int64(queue).multipliedReportingOverflow(
            by: Int64(isOvertaken ? patience + 1 : 1))
        return overflows ? .max : turns
    }

    /// Describes the position of a call in line, as the end of a sentence in the gate's facts.
    static func text(of request: Request?, takesTurns: Bool) -> String {
        let place =
            switch request?.options.criticality {
            case .critical?: ", this one before others"
            case .sheddable?: ", this one behind others"
            default: ""
            }
        return (takesTurns ? ", and callers take turns" : "") + place
    }

    /// The rank of a call in a line; the call with the lowest rank starts first.
    struct Rank: Comparable, Sendable {
        let level: Int
        /// The round in which this call is the turn of its key, or 0 without keys.
        var round: UInt64 = 0
        /// The number of the call; later calls have higher numbers.
        let ticket: UInt64

        static func < (one: Rank, other: Rank) -> Bool {
            (one.level, one.round, one.ticket) < (other.level, other.round, other.ticket)
        }
    }

    struct Place {
        let rank: Rank
        fileprivate(set) var waiter: Waiter?
    }

    /// The multiple of the oldest call's permits that later calls may take first.
    static let patience = 19

    private var byRank = Places(isByAge: false)
    private var byAge = Places(isByAge: true)
    // The latest round of each key. The entry without a key is the round of a class's latest turn.
    private var rounds: [Precedence: UInt64] = [:]
    // The number of permits that later calls have taken before the oldest call.
    private var overtaking = 0
    private var costs = SIMD4<Int>()

    var isEmpty: Bool { byAge.count == 0 }

    var placeCount: Int { max(byRank.places.count, byAge.places.count) }

    var keyCount: Int { rounds.count }

    var cost: Int { costs.wrappedSum() }

    /// Whether the oldest call starts next because too many later calls have started.
    var isOverdue: Bool {
        byAge.first?.waiter.map { overtaking >= Self.patience * $0.cost } ?? false
    }

    var first: Place? { isOverdue ? byAge.first : byRank.first }

    var last: Place? { byRank.last }

    var waiters: [Waiter] { byRank.places.compactMap(\.waiter) }

    func rank(_ ticket: UInt64, _ precedence: Precedence) -> Rank {
        var rank = Rank(level: precedence.criticality.level, ticket: ticket)
        if precedence.key != nil {
            rank.round = max(rounds[precedence] ?? 0, latestRound(precedence.criticality)) + 1
        }
        return rank
    }

    /// The minimum number of permits that waiting calls get before a new call.
    func cost(before rank: Rank, _ precedence: Precedence) -> Int {
        let above = (0..<rank.level).reduce(0) { $0 + costs[$1] }
        if precedence.key == nil { return above + costs[rank.level] }
        return above + Int(rank.round - latestRound(precedence.criticality)) - 1
    }

    private func latestRound(_ criticality: Criticality) -> UInt64 {
        rounds[Precedence(criticality: criticality)] ?? 0
    }

    /// Adds a call with its own rank or with the rank from another line.
    mutating func append(_ waiter: Waiter, rank: Rank? = nil) {
        let place = Place(rank: rank ?? waiter.rank, waiter: waiter)
        byRank.insert(place)
        byAge.insert(place)
        costs[place.rank.level] += waiter.cost
        if place.rank.round == 0 { return }
        rounds[waiter.precedence] = place.rank.round
        // Rounds before the current round are needed only for keys with waiting calls.
        if rounds.count > 2 * byAge.count + 64 {
            let line = self
            rounds = rounds.filter {
                $0.key.key == nil || $0.value > line.latestRound($0.key.criticality)
            }
        }
    }

    mutating func serve(_ rank: Rank) -> Waiter? {
        let (isOldest, isNext) = (byAge.first?.rank == rank, byRank.first?.rank == rank)
        guard let waiter = takeOut(rank) else { return nil }
        overtaking = isOldest ? 0 : overtaking + waiter.cost
        if isNext, rank.round > 0, !isEmpty {
            rounds[Precedence(criticality: waiter.precedence.criticality)] = rank.round
        }
        return waiter
    }

    mutating func remove(_ rank: Rank) -> Waiter? {
        guard let waiter = takeOut(rank) else { return nil }
        // If the last call of a key leaves, the key's next call may use the same round.
        if rank.round > 0, rounds[waiter.precedence] == rank.round {
            rounds[waiter.precedence] = rank.round - 1
        }
        return waiter
    }

    private mutating func takeOut(_ rank: Rank) -> Waiter? {
        guard let waiter = byRank.remove(rank) else { return nil }
        _ = byAge.remove(rank)
        costs[rank.level] -= waiter.cost
        if isEmpty { (rounds, overtaking) = ([:], 0) }
        return waiter
    }

    /// Sorted places for a binary search.
    private struct Places {
        let isByAge: Bool
        var places: [Place] = []
        var head = 0
        var count = 0

        init(isByAge: Bool) { self.isByAge = isByAge }

        // The first and the last place always contain a waiter.
        var first: Place? { count == 0 ? nil : places[head] }
        var last: Place? { places.last }

        private func isBefore(_ one: Rank, _ other: Rank) -> Bool {
            isByAge ? one.ticket < other.ticket : one < other
        }

        private func index(of rank: Rank) -> Int {
            var low = head
            var high = places.count
            while low < high {
                let middle = (low + high) / 2
                if isBefore(places[middle].rank, rank) { low = middle + 1 } else { high = middle }
            }
            return low
        }

        mutating func insert(_ place: Place) {
            count += 1
            if let last, isBefore(place.rank, last.rank) {
                places.insert(place, at: index(of: place.rank))
            } else {
                places.append(place)
            }
        }

        mutating func remove(_ rank: Rank) -> Waiter? {
            let index = index(of: rank)
            guard index < places.count, places[index].rank == rank,
                let waiter = places[index].waiter
            else { return nil }
            places[index].waiter = nil
            count -= 1
            if count == 0 {
                places.removeAll(keepingCapacity: true)
                head = 0
                return waiter
            }
            while places[head].waiter == nil { head += 1 }
            while let last, last.waiter == nil { places.removeLast() }
            // Empty places are removed in bulk.
            if places.count > 2 * count + 64 {
                places = places[head...].filter { $0.waiter != nil }
                head = 0
            }
            return waiter
        }
    }
}

/// The state of a gate for one key, with the key's waiting calls.
protocol LineEntry: BoundedMapEntry {
    var line: WaitingLine { get set }
}

extension BoundedMap where Value: LineEntry {
    /// Returns the waiter that is refused instead of a new call, or nil if no waiter ranks lower.
    ///
    /// The refused waiter has the lowest class of all lines, or is the last in the same line.
    func outranked(by rank: WaitingLine.Rank, in key: Key) -> (Key, WaitingLine.Rank)? {
        let lower = keys { $0.line.last.map { $0.rank.level > rank.level } ?? false }
        let lasts = lower.compactMap { key in self[key]?.line.last.map { (key, $0.rank) } }
        let lowest = lasts.max { ($0.1.level, $0.1.ticket) < ($1.1.level, $1.1.ticket) }
        if let lowest { return lowest }
        return self[key]?.line.last.flatMap { rank < $0.rank ? (key, $0.rank) : nil }
    }
}

extension WaitingLine {
    /// Whether a report of waiting calls is due after ``Permits/newsInterval``.
    ///
    /// If a report is due, `toldAt` becomes `now`.
    static func isNews(_ toldAt: inout MonotonicInstant?, at now: MonotonicInstant) -> Bool {
        if let toldAt, toldAt.duration(to: now) < Permits.newsInterval { return false }
        toldAt = now
        return true
    }
}

extension Waiter {
    /// Waits for the turn, or until the task or the context is cancelled.
    ///
    /// `phrase` is part of the error if the deadline passes during the wait. `news` is a log line
    /// for the first waiter of a line. `leave` removes the waiter from the line. If the turn has
    /// already come, `leave` returns false, and the inner gates end the call.
    func wait(
        in context: Context, for name: @autoclosure () -> String, atDeadline phrase: String? = nil,
        saying news: @autoclosure () -> String? = nil, by gate: String = "",
        gauges tellGauges: () -> Void = {},
        leave: @escaping @Sendable (Waiter) -> Bool
    ) async throws {
        let registration = context.onCancel { [self] reason in
            if leave(self) { turn.settle(.failure(reason.error)) }
        }
        defer { registration.end() }
        try await context.report(
            waitingFor: name(), atDeadline: phrase, saying: beginsLine ? news() : nil, by: gate,
            gauges: tellGauges
        ) { _ in
            try await turn.value { [self] in
                if leave(self) { turn.settle(.failure(CancellationError())) }
            }
        }
    }
}

/// Work that runs code of callers, and must therefore run after unlocking.
struct DeferredActions {
    var served: [Waiter] = []
    var timers: [any TimerToken] = []
    var wantsAttention = false
    private var failed: [(waiter: Waiter, error: ClientError)] = []

    var settledCount: Int { served.count + failed.count }

    mutating func fail(_ waiter: Waiter, _ error: ClientError) { failed.append((waiter, error)) }

    func perform() {
        for timer in timers { timer.cancel() }
        for waiter in served { waiter.turn.settle(.success(())) }
        for (waiter, error) in failed { waiter.turn.settle(.failure(error)) }
    }
}
