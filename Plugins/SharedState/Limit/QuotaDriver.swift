// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeMiddleware
import TurnpikeSupport
import TurnpikeTraffic

/// Requests the permits of a limit from the store, and returns unused permits.
final class QuotaDriver: Sendable {
    private struct State {
        var operations = 0
        var isDrained: [OneShot<Void>] = []
        var timeSource: (any TimeSource)?
    }

    typealias Limiter = KeyedLimiter<LeasedPermits>

    let plan: QuotaPlan
    let news = LogThrottle()
    private let figures: GateFigures
    private let state = Mutex(State())

    private var access: SharedAccess { plan.access }

    init(_ plan: QuotaPlan, figures: GateFigures) {
        self.plan = plan
        self.figures = figures
    }

    func attend(_ limiter: Limiter, _ key: QuotaKey, by timeSource: any TimeSource) {
        let (starts, wake) =
            limiter.change(key) { permits, _ in
                defer {
                    permits.isDriven = true
                    permits.wake = nil
                }
                return (!permits.isDriven, permits.wake)
            } ?? (false, nil)
        wake?.settle(.success(()))
        if starts { drive(limiter, key, by: timeSource) }
    }

    /// Runs the driver task of a key, which sends one request at a time to the store.
    ///
    /// The task belongs to no call. If one call is cancelled, other calls still get the answer. The
    /// task ends when no call waits and no permit is held or must be returned. That is at most 0.1
    /// s after the last call, or 1 s while the store is unreachable.
    private func drive(_ limiter: Limiter, _ key: QuotaKey, by timeSource: any TimeSource) {
        let text = key.text(in: access.group)
        state.withLock { $0.timeSource = timeSource }
        if limiter.change(key, { permits, _ in permits.isLocal }) == true {
            tellOfLocalKeys(limiter)
        }
        // The comment of this method describes the end of the task.
        _ = Task.inheriting { [self] in
            while true {
                let wake = OneShot<Void>()
                switch nextStep(limiter, key, text, wake, timeSource) {
                case .take(let request): await ask(request, limiter, key, timeSource)
                case .giveBack(let permits): giveBack(permits, text, timeSource)
                case .pause(let until): await Self.pause(until, wake, timeSource)
                case .end: return
                }
            }
        }
    }

    /// Returns the permits that no call needs to the store, and waits for the operations.
    func drain(_ limiter: Limiter) async {
        guard let timeSource = state.withLock({ $0.timeSource }) else { return }
        // A running request may still get more permits.
        for _ in 0..<3 {
            for key in limiter.keys(where: { $0.isDriven }) {
                let permits =
                    limiter.change(key) { permits, line in
                        let idle = permits.takeIdle(line)
                        if idle != 0 { state.withLock { $0.operations += 1 } }
                        return idle
                    } ?? 0
                if permits != 0 { giveBack(permits, key.text(in: access.group), timeSource) }
            }
            await waitForOperations(atMost: access.timeLimit * 2, timeSource)
        }
    }

    private func waitForOperations(
        atMost limit: Duration, _ timeSource: any TimeSource
    ) async {
        let end = OneShot<Void>()
        let isIdle = state.withLock { state in
            if state.operations > 0 { state.isDrained.append(end) }
            return state.operations == 0
        }
        if isIdle { return }
        // Each operation ends within a time limit, but waiting calls may begin further operations.
        let timer = timeSource.schedule(after: limit) { end.settle(.success(())) }
        defer { timer.cancel() }
        try? await end.value { end.settle(.success(())) }
    }

    private func nextStep(
        _ limiter: Limiter, _ key: QuotaKey, _ text: String, _ wake: OneShot<Void>,
        _ timeSource: any TimeSource
    ) -> LeasedPermits.Step {
        let (step, endsLocal) =
            limiter.change(key) { permits, line in
                let now = timeSource.now
                let coolingUntil = limiter.cooldowns?.end(of: key, at: now)?.nanoseconds
                let step = permits.nextStep(
                    line, key: text, coolingUntil: coolingUntil, at: now.nanoseconds)
                permits.wake = nil
                var endsLocal = false
                switch step {
                case .pause: permits.wake = wake
                case .take, .giveBack: state.withLock { $0.operations += 1 }
                case .end:
                    permits.isDriven = false
                    endsLocal = permits.isLocal
                }
                return (step, endsLocal)
            } ?? (.end, false)
        if endsLocal { tellOfLocalKeys(limiter) }
        return step
    }

    // Reports the number of keys whose driver decides locally, because the store is unreachable.
    private func tellOfLocalKeys(_ limiter: Limiter) {
        figures.tell {
            let count = limiter.keys { $0.isDriven && $0.isLocal }.count
            return [.gauge("turnpike.rate_limit.local"): Double(count)]
        }
    }

    private static func pause(
        _ until: Int64?, _ wake: OneShot<Void>, _ timeSource: any TimeSource
    ) async {
        let now = timeSource.now
        let timer = until.map { until in
            timeSource.schedule(
                after: now.duration(to: MonotonicInstant(nanoseconds: until))
            ) { wake.settle(.success(())) }
        }
        defer { timer?.cancel() }
        try? await wake.value { wake.settle(.success(())) }
    }

    private func ask(
        _ request: QuotaRequest, _ limiter: Limiter, _ key: QuotaKey, _ timeSource: any TimeSource
    ) async {
        defer { operationHasEnded() }
        let access = access
        let answer: QuotaAnswer? =
            (try? await access.ask(
                "a permit", by: timeSource, tell: { [news] in news.add($0) },
                late: { answer in
                    guard case .granted(let grant) = answer else { return }
                    access.run { store in
                        try await store.giveBack(
                            grant.permits, to: request.key, rules: request.rules)
                    }
                }
            ) { [plan] store in
                try plan.checked(await store.take(request))
            }) ?? nil
        if case .granted(let grant) = answer {
            figures.add(Double(grant.permits), to: "turnpike.rate_limit.taken")
        }
        apply(answer, limiter, key, timeSource)
    }

    private func apply(
        _ answer: QuotaAnswer?, _ limiter: Limiter, _ key: QuotaKey, _ timeSource: any TimeSource
    ) {
        let now = timeSource.now
        if case .coolingDown(let left) = answer {
            limiter.cooldowns?.learn(left, for: key, at: now)
        }
        let wasLocal = limiter.change(key) { permits, _ in permits.isLocal }
        limiter.refill(key, by: timeSource) { permits in
            permits.answered(answer, at: now)
            switch answer {
            case .granted: return .excess
            case .exhausted(let after): return .late(after, isCooling: false)
            case .coolingDown(let left): return .late(left, isCooling: true)
            case nil: return nil
            }
        }
        // After a missing answer, the key is local.
        if wasLocal == true || answer == nil { tellOfLocalKeys(limiter) }
    }

    private func giveBack(_ permits: Int, _ key: String, _ timeSource: any TimeSource) {
        if permits > 0 {
            figures.add(Double(permits), to: "turnpike.rate_limit.given_back")
        }
        let rules = plan.storedRules
        if access.nextAdmission(at: timeSource.now) != nil {
            // No call waits for this return. A time limit would lose the permits in a slow store.
            access.run { store in try await store.giveBack(permits, to: key, rules: rules) }
            operationHasEnded()
            return
        }
        // Only the gate's shutdown waits for this operation.
        access.tell(
            "the return of permits", by: timeSource, tell: { [news] in news.add($0) },
            ended: operationHasEnded
        ) { store in
            try await store.giveBack(permits, to: key, rules: rules)
        }
    }

    /// Lowers the remaining permits of one rule in the store.
    ///
    /// No call waits for the operation.
    func lower(
        to permits: Int, of key: QuotaKey, rule: Int, by timeSource: any TimeSource
    ) {
        let (rules, text) = (plan.storedRules, key.text(in: access.group))
        access.tell("a correction", by: timeSource, tell: { [news] in news.add($0) }) { store in
            try await store.lower(to: Double(permits), of: text, rule: rule, rules: rules)
        }
    }

    private func operationHasEnded() {
        let ready = state.withLock { state in
            state.operations -= 1
            guard state.operations == 0 else { return [OneShot<Void>]() }
            defer { state.isDrained = [] }
            return state.isDrained
        }
        for waiter in ready { waiter.settle(.success(())) }
    }
}
