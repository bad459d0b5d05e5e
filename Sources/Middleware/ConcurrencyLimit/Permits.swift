import Synchronization
package import TurnpikeCore

/// The permits of all origins, and who waits for one.
package final class Permits: Sendable {
    /// What one origin may have, has, and is asked for.
    private struct Share: OriginEntry {
        var limit: Double
        var held = 0
        var line = WaitingLine()
        var mayShrinkFrom: MonotonicInstant?

        var isInUse: Bool { held > 0 || !line.isEmpty }
        var hasRoom: Bool { held < Int(limit) }
    }

    private struct State {
        var shares = OriginMap<Share>()
        var held = 0
        var waiting = 0
        var nextTicket: UInt64 = 0
        var waitingOrigins: Set<Origin> = []
    }

    private let total: Int
    private let perOrigin: Int
    private let queue: Int
    private let adaptive: AdaptiveLimit?
    private let state = Mutex(State())

    package init(total: Int, perOrigin: Int, queue: Int, adaptive: AdaptiveLimit?) {
        self.total = max(total, 1)
        self.perOrigin = max(perOrigin, 1)
        self.queue = max(queue, 0)
        self.adaptive = adaptive
    }

    package var heldCount: Int { state.withLock { $0.held } }
    package var waitingCount: Int { state.withLock { $0.waiting } }

    /// The present limit of an origin.
    func limit(of origin: Origin) -> Int {
        Int(state.withLock { $0.shares[origin]?.limit } ?? newShare.limit)
    }

    private var newShare: Share {
        Share(limit: Double(min(max(adaptive?.initial ?? perOrigin, 1), perOrigin)))
    }

    // MARK: Taking

    /// Takes a permit, or a place in line for one.
    /// - Returns: Who waits, or nil where a permit was taken.
    package func take(_ origin: Origin) throws -> Waiter? {
        try state.withLock { state in
            let hasRoom = state.held < total
            let hasPlace = state.waiting < queue
            let ticket = state.nextTicket
            let waiter = try state.shares.update(origin, orMake: newShare) { share in
                // All who could go have gone: one who waits here waits for this origin, or for all.
                if hasRoom, share.hasRoom, share.line.isEmpty {
                    share.held += 1
                    return Waiter?.none
                }
                guard hasPlace else { throw Self.full(origin, queue: queue) }
                let waiter = Waiter(ticket: ticket)
                share.line.append(waiter)
                return waiter
            }
            if waiter == nil {
                state.held += 1
            } else {
                state.nextTicket += 1
                state.waiting += 1
                state.waitingOrigins.insert(origin)
            }
            return waiter
        }
    }

    /// Takes a waiter out of its line.
    /// - Returns: Whether it was still there.
    package func leave(_ origin: Origin, _ waiter: Waiter) -> Bool {
        state.withLock { state in
            let left = state.shares.updateIfPresent(origin) { share in
                (share.line.remove(waiter.ticket), share.line.isEmpty)
            }
            guard let left, left.0 else { return false }
            state.waiting -= 1
            if left.1 { state.waitingOrigins.remove(origin) }
            return true
        }
    }

    // MARK: Giving back

    /// Gives a permit back, which goes to the one who has waited for longest and may go.
    package func giveBack(_ origin: Origin) {
        let served = state.withLock { state in
            state.held -= 1
            state.shares.updateIfPresent(origin) { $0.held -= 1 }
            return serve(&state)
        }
        for waiter in served { waiter.turn.settle(.success(())) }
    }

    private func serve(_ state: inout State) -> [Waiter] {
        var served: [Waiter] = []
        while state.held < total, !state.waitingOrigins.isEmpty {
            let ready = state.waitingOrigins.compactMap { origin -> (Origin, UInt64)? in
                guard let share = state.shares[origin], share.hasRoom else { return nil }
                return share.line.firstTicket.map { (origin, $0) }
            }
            guard let origin = ready.min(by: { $0.1 < $1.1 })?.0 else { break }
            state.shares.updateIfPresent(origin) { share in
                guard let waiter = share.line.popFirst() else { return }
                share.held += 1
                served.append(waiter)
                if share.line.isEmpty { state.waitingOrigins.remove(origin) }
            }
            state.held += 1
            state.waiting -= 1
        }
        return served
    }

    // MARK: Adapting

    /// Lets the limit of an origin follow an outcome.
    func observe(_ outcome: Outcome, _ origin: Origin, at now: MonotonicInstant) {
        guard let adaptive, !outcome.isCancellation else { return }
        let isOverload = adaptive.isOverload(outcome)
        if !isOverload, outcome.error != nil { return }
        let served = state.withLock { state in
            state.shares.updateIfPresent(origin) { share in
                if !isOverload {
                    // An idle limit says nothing of the server.
                    guard share.held * 2 >= Int(share.limit) else { return }
                    share.limit = min(share.limit + 1 / share.limit, Double(perOrigin))
                } else if now >= share.mayShrinkFrom ?? now {
                    share.limit = max(share.limit * adaptive.decrease, Double(adaptive.min))
                    share.mayShrinkFrom = now.advanced(by: adaptive.pause)
                }
            }
            return serve(&state)
        }
        for waiter in served { waiter.turn.settle(.success(())) }
    }

    private static func full(_ origin: Origin, queue: Int) -> ClientError {
        ClientError(
            .overloaded,
            "as many calls to \(origin) are under way as may be, and "
                + (queue == 0 ? "no queue is set" : "the queue of \(queue) is full")
                + "; slow down, or raise the limit",
            transfer: TransferState(.connecting))
    }
}

/// One permit, given back once.
final class Permit: Sendable {
    private let permits: Permits
    private let origin: Origin
    private let isGivenBack = Atomic(false)

    init(_ permits: Permits, _ origin: Origin) {
        self.permits = permits
        self.origin = origin
    }

    // Whatever a gate outside does with the response, the permit comes back.
    deinit { giveBack() }

    func giveBack() {
        if !isGivenBack.exchange(true, ordering: .acquiringAndReleasing) {
            permits.giveBack(origin)
        }
    }
}
