// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Turnpike

/// Calls of three kinds, each with a name of its own, from any number of callers; and what became of
/// them.
final class FleetLoad: GateMeter {
    enum Kind: String { case get, keyed, plain }

    /// Counts the attempts of all calls.
    struct AttemptCount: Interceptor {
        let load: FleetLoad

        func intercept(
            _ request: Request, context: Context, next: Next
        ) async throws -> Response {
            load.state.withLock { $0.attempts += 1 }
            return try await next(request)
        }
    }

    static let counts: [(Kind, Int)] = [(.get, 20_000), (.keyed, 2_000), (.plain, 2_000)]

    /// Waits until so many calls have ended, or until an ejection, if there is one before.
    private struct Waiter {
        let count: Int
        var endsAtEjection = false
        let continuation: CheckedContinuation<Void, Never>

        func isOver(_ state: State) -> Bool {
            state.results.count >= count || (endsAtEjection && state.ejected > 0)
        }
    }

    private struct State {
        var begun: [Kind: Int] = [:]
        var results: [String: Result<Void, any Error>] = [:]
        var attempts = 0
        var longest = Duration.zero
        var stoppedAt: ContinuousClock.Instant?
        // The ejections by reason, and the time from the stop to the first.
        var ejections: [String: Int] = [:]
        var timeToEjection: Duration?
        var waiters: [Waiter] = []

        var ejected: Int { ejections.values.reduce(0, +) }
    }

    private let scheme: String
    private let begin = ContinuousClock.now
    private let state = Mutex(State())

    init(_ scheme: String) { self.scheme = scheme }

    var results: [String: Result<Void, any Error>] { state.withLock { $0.results } }

    /// The figures, for people.
    var report: String {
        let state = state.withLock { $0 }
        let time = state.timeToEjection.map { "\($0)" } ?? "never"
        return "\(scheme): \(state.results.count) calls in \(ContinuousClock.now - begin),"
            + " \(state.attempts - state.results.count) retries, longest call \(state.longest),"
            + " ejections \(state.ejections), the stopped one after \(time)"
    }

    func id(of kind: Kind, _ number: Int) -> String { "\(scheme)-\(kind)\(number)" }

    /// Calls until all calls of a kind have begun.
    func run(_ kind: Kind, over client: Client) async {
        while let id = next(kind) {
            let target = Target("\(scheme)://users.internal/load?id=\(id)")
            let call =
                kind == .get ? client.get(target) : client.post(target, body: .text("content"))
            let begin = ContinuousClock.now
            let result: Result<Void, any Error>
            do {
                let text = try await call.string()
                result = text.contains(" users.internal ") ? .success(()) : .failure(Wrong(text))
            } catch {
                result = .failure(error)
            }
            let time = ContinuousClock.now - begin
            change { state in
                state.results[id] = result
                state.longest = max(state.longest, time)
            }
        }
    }

    // MARK: Waiting

    /// Waits until so many calls have ended.
    func reach(_ count: Int) async {
        await withCheckedContinuation { wait(Waiter(count: count, continuation: $0)) }
    }

    /// Waits for an ejection, or else for the end of all calls.
    func reachEjection() async {
        let all = Self.counts.reduce(0) { $0 + $1.1 }
        await withCheckedContinuation {
            wait(Waiter(count: all, endsAtEjection: true, continuation: $0))
        }
    }

    private func wait(_ waiter: Waiter) { change { $0.waiters.append(waiter) } }

    /// Notes that a server was stopped.
    func didStop() {
        change {
            $0.stoppedAt = .now
            $0.ejections = [:]
        }
    }

    private func change(_ change: @Sendable (inout State) -> Void) {
        let over = state.withLock { state in
            change(&state)
            let over = state.waiters.filter { $0.isOver(state) }
            let left = state.waiters.filter { !$0.isOver(state) }
            state.waiters = left
            return over
        }
        for waiter in over { waiter.continuation.resume() }
    }

    private func next(_ kind: Kind) -> String? {
        let limit = Self.counts.first { $0.0 == kind }?.1 ?? 0
        let number = state.withLock { state -> Int? in
            let number = state.begun[kind, default: 0]
            guard number < limit else { return nil }
            state.begun[kind] = number + 1
            return number
        }
        return number.map { id(of: kind, $0) }
    }

    // MARK: The meter of the endpoints

    func add(_ amount: Double, to name: String, labels: [String: String]) {
        guard name == "turnpike.endpoints.ejections", amount > 0 else { return }
        change { state in
            state.ejections[labels["reason"] ?? "-", default: 0] += Int(amount)
            if let at = state.stoppedAt, state.timeToEjection == nil {
                state.timeToEjection = .now - at
            }
        }
    }

    func change(_ name: String, by amount: Double, labels: [String: String]) {}

    private struct Wrong: Error {
        let text: String
        init(_ text: String) { self.text = text }
    }
}
