// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// One request with hedges, which tracks the running attempts and the result.
///
/// Each attempt has its own task. The caller's task starts the attempts, which inherit the
/// task-local values of the caller. The caller waits for the decision or the next attempt.
final class HedgeRace: Sendable {
    private typealias Answer = Result<Response, any Error>

    private enum Event {
        case due
        case decided(Answer)
    }

    private struct Leg {
        let context: Context
        var task: Task<Void, Never>?
    }

    private struct State {
        var legs: [Int: Leg] = [:]
        var launched = 0
        var isDecided = false
        // The result of the race, until the caller takes the result.
        var decision: Answer?
        var wake: OneShot<Event>?
        var timer: (any TimerToken)?
        // A bad response, which is returned if no better response arrives.
        var held: Response?
    }

    private let request: Request
    private let context: Context
    private let next: Next
    private let limit: Int
    private let delay: Duration
    private let state = Mutex(State())

    init(_ request: Request, _ context: Context, _ next: Next, limit: Int, delay: Duration) {
        self.request = request
        self.context = context
        self.next = next
        self.limit = limit
        self.delay = delay
    }

    /// Runs the attempts until there is a decision.
    ///
    /// `giveBack` is called if an allowed hedge is not sent because of the decision or a
    /// cancellation. Without a good response, the result is a bad response. If all attempts fail,
    /// the last error is thrown.
    func run(mayLaunch: () -> Bool, giveBack: () -> Void) async throws -> Response {
        let registration = context.onCancel { [self] in decide(.failure($0.error)) }
        defer { registration.end() }
        // This check is needed, because the tasks of attempts would notice the cancellation later.
        try context.checkCancellation()
        launch()
        while true {
            let wake = OneShot<Event>()
            if let decision = wait(with: wake) { return try decision.get() }
            let event = try await wake.value { [self] in decide(.failure(CancellationError())) }
            switch event {
            case .decided(let decision):
                state.withLock { $0.decision = nil }
                return try decision.get()
            case .due where mayLaunch(): if Task.isCancelled || !launch() { giveBack() }
            // If one hedge was refused, this request gets no more hedges.
            case .due: state.withLock { $0.launched = limit }
            }
        }
    }

    // Sets `wake` for the next event, and starts a timer for the next attempt. After a decision,
    // returns the decision instead.
    private func wait(with wake: OneShot<Event>) -> Answer? {
        let (decision, mayLaunch) = state.withLock { state -> (Answer?, Bool) in
            defer { state.decision = nil }
            if state.decision == nil { state.wake = wake }
            return (state.decision, state.launched < limit)
        }
        if decision != nil || !mayLaunch { return decision }
        let timer = context.timeSource.schedule(after: delay) { wake.settle(.success(.due)) }
        let isOver = state.withLock { state in
            if !state.isDecided { state.timer = timer }
            return state.isDecided
        }
        if isOver { timer.cancel() }
        return nil
    }

    // Starts an attempt, and returns false if there is already a decision.
    @discardableResult
    private func launch() -> Bool {
        let context = context.child()
        let number = state.withLock { state -> Int? in
            if state.isDecided { return nil }
            defer { state.launched += 1 }
            state.legs[state.launched] = Leg(context: context)
            return state.launched
        }
        guard let number else { return false }
        // The task ends with the attempt. The decision cancels the context of the attempt, and
        // thereby ends the task.
        let task = Task.inheriting { [self] in
            do {
                let response =
                    number == 0
                    ? try await next(request, context: context)
                    : try await next.attempt(request, context: context)
                arrive(number, .success(response))
            } catch {
                arrive(number, .failure(error))
            }
        }
        let isOver = state.withLock { state in
            state.legs[number]?.task = task
            return state.isDecided
        }
        if isOver { task.cancel() }
        return true
    }

    // MARK: Deciding

    // Records the outcome of an attempt. A good outcome decides the race. A bad outcome decides the
    // race only if no attempt is left.
    private func arrive(_ number: Int, _ answer: Answer) {
        let response = try? answer.get()
        let isGood = response.map { !Hedge.isBad($0.status) } ?? false
        // An inner retry gate has ended the call, and no other attempt may replace this outcome.
        let isFinal = response == nil && context.retriesForbidden
        let (isDecisive, surplus) = state.withLock { state -> (Bool, Response?) in
            state.legs[number] = nil
            if state.isDecided { return (false, response) }
            if isGood || isFinal || state.legs.isEmpty { return (true, nil) }
            defer { if response != nil { state.held = response } }
            return (false, response == nil ? nil : state.held)
        }
        surplus?.body.cancel(.drop)
        if isDecisive { decide(answer) }
    }

    /// Makes the first decision, and stops all other attempts.
    private func decide(_ answer: Answer) {
        let (before, decision, surplus) = state.withLock { state -> (State?, Answer, Response?) in
            if state.isDecided { return (nil, answer, try? answer.get()) }
            let before = state
            // If the last attempt fails, a bad response is returned instead of the error.
            let stands =
                before.legs.isEmpty && (try? answer.get()) == nil && !context.retriesForbidden
            let decision = stands ? before.held.map { .success($0) } ?? answer : answer
            state = State(isDecided: true, decision: decision)
            return (before, decision, stands ? nil : before.held)
        }
        surplus?.body.cancel(.drop)
        guard let before else { return }
        before.timer?.cancel()
        for leg in before.legs.values {
            leg.context.cancel(.drop)
            leg.task?.cancel()
        }
        before.wake?.settle(.success(.decided(decision)))
    }
}
