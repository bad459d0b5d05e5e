// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeTraffic

enum EndpointState: String, CaseIterable, Sendable {
    case usable
    case ejected
    /// The checks of the endpoint fail.
    case down
}

final class EndpointRecord: Sendable {
    private enum Phase {
        case present(since: MonotonicInstant)
        case ejected(until: MonotonicInstant)
    }

    private enum Checked {
        /// The number of failed checks in a row.
        case well(failures: Int)
        /// The number of successful checks in a row.
        case down(successes: Int)
    }

    private struct State {
        var phase = Phase.present(since: MonotonicInstant(nanoseconds: .min))
        var checked = Checked.well(failures: 0)
        var failures = 0
        var window = EndpointOutcomes()
        // The number of ejections in quick succession.
        var ejections = 0
        var generation = 0
        var nextCheck: MonotonicInstant?
        var check: Context?
    }

    private let state = Mutex(State())

    var generation: Int { state.withLock { $0.generation } }

    var isUsable: Bool { standing == .usable }

    var standing: EndpointState {
        state.withLock { state in
            if case .ejected = state.phase { return .ejected }
            if case .down = state.checked { return .down }
            return .usable
        }
    }

    var ejectedUntil: MonotonicInstant? {
        state.withLock { state in
            if case .ejected(let until) = state.phase { until } else { nil }
        }
    }

    // MARK: Outcomes

    /// Counts the outcome of a request, and returns the number of failures in a row.
    ///
    /// A request that was sent before an ejection does not count after the ejection.
    func count(_ verdict: CircuitVerdict, generation: Int) -> Int {
        state.withLock { state in
            guard generation == state.generation, case .present = state.phase else { return 0 }
            switch verdict {
            case .ignored: return 0
            case .success:
                state.failures = 0
                state.window.successes += 1
                return 0
            case .failure:
                state.failures += 1
                state.window.failures += 1
                return state.failures
            }
        }
    }

    /// Returns the outcomes since the last call, and restarts the counts.
    ///
    /// If the endpoint was not ejected during this time, the count of ejections decreases by one.
    func takeWindow(since start: MonotonicInstant) -> EndpointOutcomes {
        state.withLock { state in
            if case .present(let since) = state.phase, since <= start, state.ejections > 0 {
                state.ejections -= 1
            }
            defer { state.window = EndpointOutcomes() }
            return state.window
        }
    }

    // MARK: Ejections

    /// Ejects the endpoint, and returns the time, or nil if the endpoint is already ejected.
    func eject(at now: MonotonicInstant, _ rules: EndpointHealth) -> Duration? {
        state.withLock { state in
            guard case .present = state.phase else { return nil }
            let time = rules.ejectionTime(after: state.ejections)
            state.phase = .ejected(until: now.advanced(by: time))
            state.ejections += 1
            state.generation += 1
            state.window = EndpointOutcomes()
            return time
        }
    }

    // Ends the ejection. After the decrease, a single failure is enough for the next ejection.
    func giveBack(at now: MonotonicInstant, _ rules: EndpointHealth) {
        state.withLock { state in
            guard case .ejected = state.phase else { return }
            state.phase = .present(since: now)
            state.failures = max(rules.consecutiveFailures - 1, 0)
        }
    }

    // MARK: Checks

    /// The time of the next check, or nil before the first check has a time.
    var nextCheck: MonotonicInstant? {
        get { state.withLock { $0.nextCheck } }
        set { state.withLock { $0.nextCheck = newValue } }
    }

    func beginCheck(in context: Context) -> Bool {
        state.withLock { state in
            if state.check != nil { return false }
            state.check = context
            return true
        }
    }

    /// Ends the running check; the result is nil if unknown.
    ///
    /// If the check changes the health of the endpoint, returns whether the endpoint is healthy.
    func endCheck(_ isWell: Bool?, _ rules: EndpointHealthCheck) -> Bool? {
        state.withLock { state in
            state.check = nil
            switch (state.checked, isWell) {
            case (_, nil): break
            case (.well, true?): state.checked = .well(failures: 0)
            case (.down, false?): state.checked = .down(successes: 0)
            case (.well(let failures), false?):
                state.checked = .well(failures: failures + 1)
                guard failures + 1 >= rules.unhealthyThreshold else { break }
                state.checked = .down(successes: 0)
                return false
            case (.down(let successes), true?):
                state.checked = .down(successes: successes + 1)
                guard successes + 1 >= rules.healthyThreshold else { break }
                state.checked = .well(failures: 0)
                return true
            }
            return nil
        }
    }

    func forgetChecks() {
        state.withLock { state in
            state.checked = .well(failures: 0)
            state.nextCheck = nil
        }
    }

    /// Ends the running check, because the endpoint has left the list.
    func leave() { state.withLock { $0.check }?.cancel(.drop) }
}

struct EndpointOutcomes: Equatable, Sendable {
    var successes = 0
    var failures = 0

    var count: Int { successes + failures }
    var ratio: Double { count == 0 ? 1 : Double(successes) / Double(count) }

    /// Returns endpoints whose success ratio is far below the ratio of the others, the worst first.
    ///
    /// In Envoy, the mean and the deviation include the endpoint itself, and one of five endpoints
    /// can never be an outlier. This code compares each endpoint only with the other endpoints. An
    /// outlier's ratio is lower by at least a tenth, and by `deviations` times a deviation. The
    /// larger of the others' deviation and the random deviation is used.
    static func outliers(
        among all: [EndpointOutcomes], minimum: Int, deviations: Double
    ) -> [Int] {
        var rest = all.indices.filter { all[$0].count >= max(minimum, 1) }
            .sorted { all[$0].ratio < all[$1].ratio }[...]
        // NaN finds no outlier.
        guard deviations >= 0, deviations.isFinite else { return [] }
        var sum = rest.reduce(0) { $0 + all[$1].ratio }
        var squares = rest.reduce(0) { $0 + all[$1].ratio * all[$1].ratio }
        var outliers: [Int] = []
        // The worst endpoint would make the deviation too large to find the second worst.
        while rest.count > 1, let worst = rest.popFirst() {
            let ratio = all[worst].ratio
            (sum, squares) = (sum - ratio, squares - ratio * ratio)
            let mean = sum / Double(rest.count)
            let variance = squares / Double(rest.count) - mean * mean
            let chance = mean * (1 - mean) / Double(all[worst].count)
            let deviation = max(variance, chance, 0).squareRoot()
            guard ratio < mean - max(deviations * deviation, 0.1) - 1e-9 else { break }
            outliers.append(worst)
        }
        return outliers
    }
}
