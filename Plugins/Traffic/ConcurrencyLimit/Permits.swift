// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

final class Permits: Sendable {
    struct Rules: Sendable {
        let total: Int
        let perOrigin: Int
        let queue: Int
        let adaptive: AdaptiveLimit?

        // A limit that is never reached. A `Double` represents this number exactly.
        private static let most = 1 << 40

        init(total: Int, perOrigin: Int, queue: Int, adaptive: AdaptiveLimit?) {
            self.total = min(max(total, 1), Self.most)
            self.perOrigin = min(max(perOrigin, 1), Self.most)
            self.queue = max(queue, 0)
            // The initialiser applies its bounds to values that were set later.
            self.adaptive = adaptive.map {
                var rule = AdaptiveLimit(
                    initial: $0.initial, min: $0.min, decrease: $0.decrease, pause: $0.pause,
                    isOverload: $0.isOverload)
                rule.followsLatency = $0.followsLatency
                return rule
            }
        }

        var first: Double {
            Double(adaptive.map { min(max($0.initial ?? perOrigin, 1), perOrigin) } ?? perOrigin)
        }

        var lowest: Double { Double(adaptive.map { min($0.min, perOrigin) } ?? perOrigin) }

        func limit(after old: Double) -> Double { min(max(old, lowest), Double(perOrigin)) }
    }

    private struct State {
        var rules: Rules
        var shares = BoundedMap<Origin, OriginShare>()
        // The next waiting call of each origin with a free permit.
        var ready = WaitingLine()
        var held = 0
        var waiting = 0
        var nextTicket: UInt64 = 0
        // The time of the last log line about calls that wait because of the total limit.
        var toldAt: MonotonicInstant?

        // Records the next call of an origin. The caller calls this method after each change of the
        // next call or of the free permits.
        mutating func noteNext(of origin: Origin) {
            if waiting == 0, ready.isEmpty { return }
            let change = shares.updateIfPresent(origin) { share in
                let old = share.noted
                share.noted = share.next
                return (old, share.noted)
            }
            guard let (old, new) = change, old?.rank != new?.rank else { return }
            if let old { _ = ready.remove(old.rank) }
            if let new, let waiter = new.waiter { ready.append(waiter, rank: new.rank) }
        }

        /// Removes a waiting call from its line, or returns nil if the call is not in line.
        mutating func remove(_ rank: WaitingLine.Rank, of origin: Origin) -> Waiter? {
            let waiter = shares.updateIfPresent(origin) { $0.line.remove(rank) } ?? nil
            if waiter != nil { waiting -= 1 }
            noteNext(of: origin)
            return waiter
        }

        /// Adds a call to the line of an origin, or returns nil if the call is refused.
        ///
        /// If the lines are full, `outranked` is the waiter that is refused instead of the call.
        mutating func append(
            _ origin: Origin, _ precedence: Precedence, at now: MonotonicInstant
        ) -> (waiter: Waiter, outranked: Waiter?)? {
            let rank = shares.updateIfPresent(origin) { $0.line.rank(nextTicket, precedence) }
            guard let rank else { return nil }
            var outranked: Waiter?
            if waiting >= rules.queue {
                guard let (key, last) = shares.outranked(by: rank, in: origin) else { return nil }
                outranked = remove(last, of: key)
            }
            var toldAt = toldAt
            let added = shares.updateIfPresent(origin) { share in
                var beginsLine = false
                if share.line.isEmpty {
                    beginsLine =
                        share.hasRoom
                        ? WaitingLine.isNews(&toldAt, at: now)
                        : WaitingLine.isNews(&share.toldAt, at: now)
                }
                let waiter = Waiter(rank, precedence, origin: origin, beginsLine: beginsLine)
                share.line.append(waiter)
                return waiter
            }
            guard let waiter = added else { return nil }
            self.toldAt = toldAt
            nextTicket += 1
            waiting += 1
            noteNext(of: origin)
            return (waiter, outranked)
        }
    }

    private let state: Mutex<State>
    let figures: GateFigures

    private static let help = [
        "turnpike.concurrency_limit.in_flight":
            "Calls under way that a concurrency limit has let pass, bodies included.",
        "turnpike.concurrency_limit.waiting": "Calls that wait in line for a concurrency limit.",
        "turnpike.concurrency_limit.limit":
            "The number of calls to a server that an adaptive limit allows at once.",
        "turnpike.concurrency_limit.refusals":
            "Calls that a concurrency limit refused, because its line was full.",
    ]

    // If outcomes do not change the limits, a call records its outcome without the lock.
    private let isAdaptive: Atomic<Bool>
    private let measures: Atomic<Bool>

    init(_ rules: Rules, meter: (any GateMeter)? = nil) {
        figures = GateFigures(meter, help: Self.help)
        state = Mutex(State(rules: rules))
        isAdaptive = Atomic(rules.adaptive != nil)
        measures = Atomic(rules.adaptive?.followsLatency == true)
    }

    convenience init(
        total: Int, perOrigin: Int, queue: Int, adaptive: AdaptiveLimit?,
        meter: (any GateMeter)? = nil
    ) {
        self.init(
            Rules(total: total, perOrigin: perOrigin, queue: queue, adaptive: adaptive),
            meter: meter)
    }

    /// Adopts the rules and the meter of another instance.
    ///
    /// Running calls keep their permits. After a reduction of the limit, no call gets a permit
    /// until enough permits are returned.
    func update(to other: Permits) {
        update(other.currentRules)
        figures.move(to: other.figures.meter)
    }

    private func update(_ rules: Rules) {
        isAdaptive.store(rules.adaptive != nil, ordering: .relaxed)
        measures.store(rules.adaptive?.followsLatency == true, ordering: .relaxed)
        let (served, origins) = state.withLock { state in
            state.rules = rules
            state.shares.updateAll { $0.limit = rules.limit(after: $0.limit) }
            let origins = state.shares.keys { _ in true }
            for origin in origins { state.noteNext(of: origin) }
            return (serve(&state), origins)
        }
        for waiter in served { waiter.turn.settle(.success(())) }
        for origin in origins { tell(of: origin) }
    }

    /// The shortest time between two reports of waiting calls for the same reason.
    ///
    /// Near the limit, waits may begin and end many times a second.
    static let newsInterval = Duration.seconds(10)

    var heldCount: Int { state.withLock { $0.held } }
    var waitingCount: Int { state.withLock { $0.waiting } }

    var total: Int { currentRules.total }

    var currentRules: Rules { state.withLock { $0.rules } }

    func limit(of origin: Origin) -> Int {
        Int(state.withLock { $0.shares[origin]?.limit ?? $0.rules.first })
    }

    // MARK: Taking

    /// Takes a permit, or adds the call to the line and returns the waiter of the call.
    ///
    /// If the line is full, throws `overloaded`.
    func take(
        _ origin: Origin, _ precedence: Precedence = Precedence(), timeSource: any TimeSource
    ) throws -> Waiter? {
        var evicted: [Origin] = []
        defer { for origin in evicted { tell(of: origin) } }
        let (waiter, outranked, queue) = try state.withLock {
            state -> (Waiter?, Waiter?, Int) in
            let rules = state.rules
            let hasRoom = state.held < rules.total
            let isTaken = state.shares.update(
                origin, orMake: OriginShare(limit: rules.first),
                evicting: { origin, _ in evicted.append(origin) },
                { share in
                    // All calls that can start have started. The other calls wait for this origin
                    // or for the total.
                    guard hasRoom, share.hasRoom, share.line.isEmpty else { return false }
                    share.held += 1
                    return true
                })
            if isTaken {
                state.held += 1
                return (nil, nil, 0)
            }
            guard let (waiter, outranked) = state.append(origin, precedence, at: timeSource.now)
            else { throw Self.full(origin, queue: rules.queue) }
            return (waiter, outranked, rules.queue)
        }
        if let outranked {
            let error = Self.full(outranked.origin ?? origin, queue: queue)
            outranked.turn.settle(.failure(error))
        }
        return waiter
    }

    /// Removes a waiter from its line, and returns whether the waiter was still in line.
    func leave(_ origin: Origin, _ waiter: Waiter) -> Bool {
        state.withLock { $0.remove(waiter.rank, of: origin) != nil }
    }

    // MARK: Giving back

    /// Returns a permit.
    ///
    /// The call of the highest class that can start gets the permit. Within a class, the oldest
    /// call starts first. ``WaitingLine`` describes the aging.
    func giveBack(_ origin: Origin) {
        let served = state.withLock { state in
            state.held -= 1
            state.shares.updateIfPresent(origin) { $0.held -= 1 }
            state.noteNext(of: origin)
            return serve(&state)
        }
        for waiter in served { waiter.turn.settle(.success(())) }
    }

    private func serve(_ state: inout State) -> [Waiter] {
        var served: [Waiter] = []
        while state.held < state.rules.total, let place = state.ready.first,
            let waiter = state.ready.serve(place.rank), let origin = waiter.origin
        {
            state.shares.updateIfPresent(origin) { share in
                _ = share.line.serve(waiter.rank)
                share.held += 1
                share.noted = nil
            }
            served.append(waiter)
            state.held += 1
            state.waiting -= 1
            state.noteNext(of: origin)
        }
        return served
    }

    // MARK: Adapting

    /// Whether the limits depend on the latency of requests.
    var followsLatency: Bool { measures.load(ordering: .relaxed) }

    func observe(
        _ outcome: Outcome, _ origin: Origin, sentAt: MonotonicInstant?, at now: MonotonicInstant
    ) {
        guard isAdaptive.load(ordering: .relaxed), !outcome.isCancellation else { return }
        let rules = state.withLock { $0.rules }
        guard let adaptive = rules.adaptive else { return }
        let isOverload = adaptive.isOverload(outcome)
        if !isOverload, outcome.error != nil { return }
        let served = state.withLock { state in
            // A reload may have replaced the rules since the request was sent.
            let rules = state.rules
            guard let adaptive = rules.adaptive else { return [] as [Waiter] }
            state.shares.updateIfPresent(origin) { share in
                if !isOverload {
                    // An unused limit does not show whether the server is overloaded.
                    guard share.held * 2 >= Int(share.limit) else { return }
                    if adaptive.followsLatency {
                        // If a reload turns the rule on during the request, the send time is
                        // unknown.
                        guard let sentAt else { return }
                        var probe = share.probe ?? LatencyProbe(limit: share.limit)
                        share.limit = probe.record(
                            sentAt: sentAt, at: now, limit: share.limit,
                            within: rules.lowest...Double(rules.perOrigin))
                        share.probe = probe
                        return
                    }
                    share.limit = min(share.limit + 1 / share.limit, Double(rules.perOrigin))
                } else if now >= share.mayShrinkFrom ?? now {
                    share.limit = max(share.limit * adaptive.decrease, rules.lowest)
                    share.probe?.lower(by: adaptive.decrease)
                    share.mayShrinkFrom = now.advanced(by: adaptive.pause)
                }
            }
            state.noteNext(of: origin)
            return serve(&state)
        }
        for waiter in served { waiter.turn.settle(.success(())) }
    }

    // MARK: Metrics

    var liveFigures: [LiveFigure] {
        state.withLock { state in
            let (held, total, waiting) = (state.held, state.rules.total, state.waiting)
            return state.shares.compactMap { origin, share in
                guard share.isInUse else { return nil }
                let text = "\(share.held) of \(Int(share.limit)), \(share.line.cost) in line"
                return LiveFigure("permits to \(origin)", text, isTrouble: !share.hasRoom)
            } + [
                LiveFigure("permits", "\(held) of \(total)", isTrouble: held >= total),
                LiveFigure("in line", "\(waiting) of \(state.rules.queue)", isTrouble: waiting > 0),
            ]
        }
    }

    /// Reports the number of running and waiting calls to the meter.
    ///
    /// If the limit is adaptive and the origin is known, also reports the origin's limit.
    func tell(of origin: Origin) {
        figures.tell {
            let (held, waiting, limit) = state.withLock { state in
                let isAdaptive = state.rules.adaptive != nil
                return (state.held, state.waiting, isAdaptive ? state.shares[origin]?.limit : nil)
            }
            var gauges: [GateFigure: Double?] = [
                .gauge("turnpike.concurrency_limit.in_flight"): Double(held),
                .gauge("turnpike.concurrency_limit.waiting"): Double(waiting),
            ]
            gauges.updateValue(
                limit?.rounded(.down),
                forKey: .gauge("turnpike.concurrency_limit.limit", origin.meterLabels))
            return gauges
        }
    }

    private static func full(_ origin: Origin, queue: Int) -> ClientError {
        ClientError(
            .overloaded,
            "the limit on concurrent calls to \(origin) is reached, and "
                + (queue == 0 ? "no queue is set" : "the queue of \(queue) is full")
                + "; slow down, or raise the limit",
            transfer: TransferState(.connecting))
    }
}

/// The state of one origin, with the limit, the taken permits and the waiting calls.
struct OriginShare: LineEntry {
    var limit: Double
    var held = 0
    var line = WaitingLine()
    var mayShrinkFrom: MonotonicInstant?
    var probe: LatencyProbe?
    /// The time of the last log line about calls that wait for this origin.
    var toldAt: MonotonicInstant?

    var isInUse: Bool { held > 0 || !line.isEmpty }
    var hasRoom: Bool { held < Int(limit) }

    /// The last value of ``next`` that ``Permits`` has recorded.
    var noted: WaitingLine.Place?

    /// The rank of the origin's next call among all origins, or nil without a free permit.
    ///
    /// Rounds are comparable only within one line. A line with an overdue call gets the rank of the
    /// highest class, because the overdue call delays the whole line.
    var next: WaitingLine.Place? {
        guard hasRoom, let first = line.first else { return nil }
        return WaitingLine.Place(
            rank: WaitingLine.Rank(
                level: line.isOverdue ? 0 : first.rank.level, ticket: first.rank.ticket),
            waiter: first.waiter)
    }
}
