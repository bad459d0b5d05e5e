import Synchronization
import TurnpikeCore

/// One call with its hedges: who is under way, who has won, who must stop.
///
/// The first leg runs in the caller's task, so that a call that needs no hedge costs a timer and no
/// task; each hedge runs in a task of its own, which the race ends.
final class HedgeRace: Sendable {
    /// What a race needs of its gate.
    struct Rules: Sendable {
        let limit: Int
        let delay: Duration
        let mayLaunch: @Sendable () -> Bool
        let onEnd: @Sendable (_ elapsed: Duration) -> Void
    }

    private struct Leg {
        let context: Context
        var task: Task<Void, Never>?
    }

    private struct State {
        var isDecided = false
        var launched = 1
        var legs: [Int: Leg] = [:]
        var timer: (any TimerToken)?
        // A bad outcome that waits for a better one.
        var held: Response?
    }

    private let request: Request
    private let context: Context
    private let next: Next
    private let rules: Rules
    private let decision = OneShot<Response>()
    private let state = Mutex(State())

    init(_ request: Request, _ context: Context, _ next: Next, _ rules: Rules) {
        self.request = request
        self.context = context
        self.next = next
        self.rules = rules
    }

    func run() async throws -> Response {
        let first = context.child()
        state.withLock { $0.legs[0] = Leg(context: first) }
        schedule()
        let begin = context.timeSource.now
        let result: Result<Response, any Error>
        do {
            result = .success(try await next(request, context: first))
        } catch {
            result = .failure(error)
        }
        if let error = giveUpError(result) {
            abandon(error)
            try? result.get().body.cancel(.drop)
            throw error
        }
        rules.onEnd(begin.duration(to: context.timeSource.now))
        if let own = arrive(0, result) { return try own.get() }
        return try await decided()
    }

    // The caller's own end is no leg's outcome.
    private func giveUpError(_ result: Result<Response, any Error>) -> (any Error)? {
        if let reason = context.cancelReason { return reason.error }
        guard Task.isCancelled, case .failure(let error) = result else { return nil }
        return error
    }

    private func decided() async throws -> Response {
        let registration = context.onCancel { [self] in abandon($0.error) }
        defer { registration.end() }
        return try await decision.value { [self] in abandon(CancellationError()) }
    }

    // MARK: Launching

    private func schedule() {
        let timer = context.timeSource.schedule(after: rules.delay) { [self] in launch() }
        let isOver = state.withLock { state in
            if !state.isDecided { state.timer = timer }
            return state.isDecided
        }
        if isOver { timer.cancel() }
    }

    private func launch() {
        let isWanted = state.withLock { state in
            state.timer = nil
            return !state.isDecided && !state.legs.isEmpty && state.launched < rules.limit
        }
        guard isWanted, context.cancelReason == nil, rules.mayLaunch() else { return }
        let context = context.child()
        let number = state.withLock { state -> Int? in
            if state.isDecided || state.legs.isEmpty { return nil }
            defer { state.launched += 1 }
            state.legs[state.launched] = Leg(context: context)
            return state.launched
        }
        guard let number else { return }
        // It ends by itself, or is cancelled with its context when the race is decided.
        let task = Task { [self] in
            do {
                let response = try await next.attempt(request, context: context)
                settle(arrive(number, .success(response)))
            } catch {
                settle(arrive(number, .failure(error)))
            }
        }
        let isOver = state.withLock { state in
            state.legs[number]?.task = task
            return state.isDecided
        }
        if isOver { task.cancel() }
        if number + 1 < rules.limit { schedule() }
    }

    private func settle(_ result: Result<Response, any Error>?) {
        if let result, !decision.settle(result) { try? result.get().body.cancel(.drop) }
    }

    // MARK: Deciding

    /// Takes the outcome of a leg.
    /// - Returns: What decides the race by it: a good outcome, or the last one of all.
    private func arrive(
        _ number: Int, _ result: Result<Response, any Error>
    ) -> Result<Response, any Error>? {
        let isGood = (try? result.get()).map { !Hedge.isBad($0.status) } ?? false
        var losers: [Leg] = []
        var surplus: Response?
        var timer: (any TimerToken)?
        let isDecisive = state.withLock { state in
            state.legs[number] = nil
            if state.isDecided {
                surplus = try? result.get()
                return false
            }
            guard isGood || state.legs.isEmpty else {
                surplus = state.held
                if case .success(let response) = result {
                    state.held = response
                } else {
                    swap(&surplus, &state.held)
                }
                return false
            }
            state.isDecided = true
            surplus = state.held
            state.held = nil
            losers = Array(state.legs.values)
            state.legs = [:]
            timer = state.timer
            state.timer = nil
            return true
        }
        timer?.cancel()
        surplus?.body.cancel(.drop)
        stop(losers)
        return isDecisive ? result : nil
    }

    /// Ends the race without a winner.
    private func abandon(_ error: any Error) {
        let before = state.withLock { state -> State? in
            if state.isDecided { return nil }
            defer {
                state.isDecided = true
                state.legs = [:]
                state.timer = nil
                state.held = nil
            }
            return state
        }
        guard let before else { return }
        before.timer?.cancel()
        before.held?.body.cancel(.drop)
        stop(Array(before.legs.values))
        decision.settle(.failure(error))
    }

    private func stop(_ legs: [Leg]) {
        for leg in legs {
            leg.context.cancel(.drop)
            leg.task?.cancel()
        }
    }
}
