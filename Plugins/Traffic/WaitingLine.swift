// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// A call that waits for its turn.
final class Waiter: Sendable {
    let rank: WaitingLine.Rank
    let precedence: Precedence
    /// The origin whose permit it waits for, if it waits for one.
    let origin: Origin?
    /// Whether a line begins with this call, and nothing was said of a line here for a while.
    let beginsLine: Bool
    /// How many permits the call takes.
    let cost: Int
    /// The time at which the call must have ended; nil if there is no limit.
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

/// Calls that wait for their turn; any of them may leave.
///
/// Calls of higher classes go first. Within a class each key has one turn in a round, and without
/// keys calls go first come, first served. So that nothing starves, the call that has waited longest
/// goes first once calls that came later have taken ``patience`` times its permits before it: of 20
/// permits, aging takes at most one. A call thus has its turn after at most 20 turns for each call
/// that was in line before it, and 20 for itself, if all cost the same.
struct WaitingLine {
    /// The most turns that a call waits for in a line that holds a number of calls.
    static func mostTurns(of request: Request?, queue: Int, takesTurns: Bool) -> Int64 {
        // Those of the highest class are overtaken only by those of other callers.
        let isOvertaken = takesTurns || request?.options.criticality != .critical
        let (turns, overflows) = Int64(queue).multipliedReportingOverflow(
            by: Int64(isOvertaken ? patience + 1 : 1))
        return overflows ? .max : turns
    }

    /// What a gate states of the turn of a call: the end of a sentence.
    static func text(of request: Request?, takesTurns: Bool) -> String {
        let place =
            switch request?.options.criticality {
            case .critical?: ", this one before others"
            case .sheddable?: ", this one behind others"
            default: ""
            }
        return (takesTurns ? ", and callers take turns" : "") + place
    }

    /// The place of a call among others: the lowest goes first.
    struct Rank: Comparable, Sendable {
        /// The class; 0 is the highest.
        let level: Int
        /// The round in which its key has a turn with it; 0 if there are no keys.
        var round: UInt64 = 0
        /// Grows from call to call.
        let ticket: UInt64

        static func < (one: Rank, other: Rank) -> Bool {
            (one.level, one.round, one.ticket) < (other.level, other.round, other.ticket)
        }
    }

    /// A waiter and its rank in this line.
    struct Place {
        let rank: Rank
        fileprivate(set) var waiter: Waiter?
    }

    /// How many times its own permits may go to later calls before a call that has waited longest.
    static let patience = 19

    private var byRank = Places(isByAge: false)
    private var byAge = Places(isByAge: true)
    // The latest round of each key, and without a key that of the latest turn in a class.
    private var rounds: [Precedence: UInt64] = [:]
    // Permits that went to later calls than the one that has waited longest.
    private var overtaking = 0
    // The permits that the calls of each class need.
    private var costs = SIMD4<Int>()

    var isEmpty: Bool { byAge.count == 0 }

    /// How many places are stored, including those of waiters that have left.
    var placeCount: Int { max(byRank.places.count, byAge.places.count) }

    /// How many rounds are remembered.
    var keyCount: Int { rounds.count }

    /// How many permits all calls need.
    var cost: Int { costs.wrappedSum() }

    /// Whether the call that has waited longest is next because later calls have gone before it.
    var isOverdue: Bool {
        byAge.first?.waiter.map { overtaking >= Self.patience * $0.cost } ?? false
    }

    /// The waiter whose turn is next.
    var first: Place? { isOverdue ? byAge.first : byRank.first }

    /// The waiter that is refused first.
    var last: Place? { byRank.last }

    /// The waiters, by rank.
    var waiters: [Waiter] { byRank.places.compactMap(\.waiter) }

    /// The rank of a new call.
    func rank(_ ticket: UInt64, _ precedence: Precedence) -> Rank {
        var rank = Rank(level: precedence.criticality.level, ticket: ticket)
        if precedence.key != nil {
            rank.round = max(rounds[precedence] ?? 0, latestRound(precedence.criticality)) + 1
        }
        return rank
    }

    /// How many permits at least go to calls in line before a new call.
    func cost(before rank: Rank, _ precedence: Precedence) -> Int {
        let above = (0..<rank.level).reduce(0) { $0 + costs[$1] }
        if precedence.key == nil { return above + costs[rank.level] }
        return above + Int(rank.round - latestRound(precedence.criticality)) - 1
    }

    private func latestRound(_ criticality: Criticality) -> UInt64 {
        rounds[Precedence(criticality: criticality)] ?? 0
    }

    /// Adds a waiter, with its own rank or that of another line.
    mutating func append(_ waiter: Waiter, rank: Rank? = nil) {
        let place = Place(rank: rank ?? waiter.rank, waiter: waiter)
        byRank.insert(place)
        byAge.insert(place)
        costs[place.rank.level] += waiter.cost
        if place.rank.round == 0 { return }
        rounds[waiter.precedence] = place.rank.round
        // Of keys that no longer wait, those before the present round are as good as new.
        if rounds.count > 2 * byAge.count + 64 {
            let line = self
            rounds = rounds.filter {
                $0.key.key == nil || $0.value > line.latestRound($0.key.criticality)
            }
        }
    }

    /// Takes out a waiter that has its turn.
    mutating func serve(_ rank: Rank) -> Waiter? {
        let (isOldest, isNext) = (byAge.first?.rank == rank, byRank.first?.rank == rank)
        guard let waiter = takeOut(rank) else { return nil }
        overtaking = isOldest ? 0 : overtaking + waiter.cost
        if isNext, rank.round > 0, !isEmpty {
            rounds[Precedence(criticality: waiter.precedence.criticality)] = rank.round
        }
        return waiter
    }

    /// Takes out a waiter that leaves, wherever it stands.
    /// - Returns: The waiter; nil if it was not in line.
    mutating func remove(_ rank: Rank) -> Waiter? {
        guard let waiter = takeOut(rank) else { return nil }
        // The last one gives its round back.
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

    /// Places in an order, in which a binary search finds them.
    private struct Places {
        let isByAge: Bool
        var places: [Place] = []
        var head = 0
        var count = 0

        init(isByAge: Bool) { self.isByAge = isByAge }

        // There is a waiter in the first place and in the last one.
        var first: Place? { count == 0 ? nil : places[head] }
        var last: Place? { places.last }

        private func isBefore(_ one: Rank, _ other: Rank) -> Bool {
            isByAge ? one.ticket < other.ticket : one < other
        }

        // The index of the first place that does not come before a rank.
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
            // Places of waiters that have left are removed in bulk.
            if places.count > 2 * count + 64 {
                places = places[head...].filter { $0.waiter != nil }
                head = 0
            }
            return waiter
        }
    }
}

/// What a gate keeps for a key, with the calls that wait there.
protocol LineEntry: BoundedMapEntry {
    var line: WaitingLine { get set }
}

extension BoundedMap where Value: LineEntry {
    /// The waiter that is refused in place of a new one when the lines are full: one of the lowest
    /// class in any line, or the last one in the same line; nil if none ranks behind the new one.
    func outranked(by rank: WaitingLine.Rank, in key: Key) -> (Key, WaitingLine.Rank)? {
        let lower = keys { $0.line.last.map { $0.rank.level > rank.level } ?? false }
        let lasts = lower.compactMap { key in self[key]?.line.last.map { (key, $0.rank) } }
        let lowest = lasts.max { ($0.1.level, $0.1.ticket) < ($1.1.level, $1.1.ticket) }
        if let lowest { return lowest }
        return self[key]?.line.last.flatMap { rank < $0.rank ? (key, $0.rank) : nil }
    }
}

extension WaitingLine {
    /// Decides whether to report a line: if there was no report for ``Permits/newsInterval``.
    /// - Parameters:
    ///   - toldAt: The time of the last report; set to `now` if the method returns true.
    ///   - now: The current time.
    /// - Returns: Whether to report the line.
    static func isNews(_ toldAt: inout MonotonicInstant?, at now: MonotonicInstant) -> Bool {
        if let toldAt, toldAt.duration(to: now) < Permits.newsInterval { return false }
        toldAt = now
        return true
    }
}

extension Waiter {
    /// Waits for the turn, or until the task or the context is cancelled.
    /// - Parameters:
    ///   - context: The call's context.
    ///   - name: The name of the awaited permit, for the call's trace.
    ///   - phrase: The words in the error if a deadline passes during the wait.
    ///   - news: The report of the gate if a line begins.
    ///   - gate: The gate's name.
    ///   - tellGauges: Reports the number of waiting calls to the meter.
    ///   - leave: Removes the waiter from its line. Returns false if the turn has already come. The
    ///     inner gates then end the call.
    /// - Throws: `CancellationError`, or the error of the context's cancellation.
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

/// What remains to be done after unlocking, because it runs code of others.
struct DeferredActions {
    var served: [Waiter] = []
    var timers: [any TimerToken] = []
    var wantsAttention = false
    private var failed: [(waiter: Waiter, error: ClientError)] = []

    /// How many calls no longer wait.
    var settledCount: Int { served.count + failed.count }

    mutating func fail(_ waiter: Waiter, _ error: ClientError) { failed.append((waiter, error)) }

    func perform() {
        for timer in timers { timer.cancel() }
        for waiter in served { waiter.turn.settle(.success(())) }
        for (waiter, error) in failed { waiter.turn.settle(.failure(error)) }
    }
}
