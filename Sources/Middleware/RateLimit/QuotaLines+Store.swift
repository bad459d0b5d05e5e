// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

extension QuotaLines {
    /// Runs the driver of a line: one task that asks the store for it, one request at a time, and
    /// returns what is not used.
    ///
    /// It belongs to no call, so that a call that is cancelled does not take the answer from the
    /// others. It ends by itself when no call waits, no permit is held and nothing has to be given
    /// back: at most a tenth of a second after the last call, or a second while the store is away.
    func drive(_ key: QuotaKey, by timeSource: any TimeSource) {
        guard let access = plan.access else { return }
        let text = key.text(in: access.group)
        let isLocal = state.withLock { state in
            state.timeSource = timeSource
            let isLocal = state.lines[key]?.isLocal ?? false
            state.localLines += isLocal ? 1 : 0
            return isLocal
        }
        if isLocal { tellOfLocalLines() }
        // Ends by itself; see above.
        _ = Task.inheriting { [self] in
            while true {
                let wake = OneShot<Void>()
                switch nextStep(key, text, access, wake, timeSource) {
                case .take(let request): await ask(request, key, access, timeSource)
                case .giveBack(let permits): giveBack(permits, text, access, timeSource)
                case .pause(let until): await Self.pause(until, wake, timeSource)
                case .end: return
                }
            }
        }
    }

    /// Returns what no call needs, and waits until the store has it.
    func drain() async {
        guard let access = plan.access,
            let timeSource = state.withLock({ $0.timeSource })
        else { return }
        // A request that is under way may bring more.
        for _ in 0..<3 {
            let idle = state.withLock { state in
                var idle: [(QuotaKey, Int)] = []
                for key in state.lines.keys(where: { $0.isDriven }) {
                    let permits = state.lines.updateIfPresent(key) { $0.takeIdle() } ?? 0
                    if permits != 0 { idle.append((key, permits)) }
                }
                state.operations += idle.count
                return idle
            }
            for (key, permits) in idle {
                giveBack(permits, key.text(in: access.group), access, timeSource)
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
        // Each operation ends within its time limit, but calls in line may begin others.
        let timer = timeSource.schedule(after: limit) { end.settle(.success(())) }
        defer { timer.cancel() }
        try? await end.value { end.settle(.success(())) }
    }

    private func nextStep(
        _ key: QuotaKey, _ text: String, _ access: SharedAccess, _ wake: OneShot<Void>,
        _ timeSource: any TimeSource
    ) -> QuotaLine.Step {
        let (step, wasLocal) = state.withLock { state in
            let now = timeSource.now
            let coolingUntil = cooldowns?.end(of: key, at: now)?.nanoseconds
            var wasLocal = false
            let step =
                state.lines.updateIfPresent(key) { line in
                    let step = line.nextStep(
                        access, key: text, coolingUntil: coolingUntil, at: now.nanoseconds)
                    line.wake = nil
                    switch step {
                    case .pause: line.wake = wake
                    case .end:
                        line.isDriven = false
                        wasLocal = line.isLocal
                    case .take, .giveBack: break
                    }
                    return step
                } ?? .end
            switch step {
            case .take, .giveBack: state.operations += 1
            case .pause, .end: break
            }
            state.localLines -= wasLocal ? 1 : 0
            return (step, wasLocal)
        }
        if wasLocal { tellOfLocalLines() }
        return step
    }

    private func tellOfLocalLines() {
        figures.tell {
            [.gauge("turnpike.rate_limit.local"): Double(state.withLock { $0.localLines })]
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
        _ request: QuotaRequest, _ key: QuotaKey, _ access: SharedAccess,
        _ timeSource: any TimeSource
    ) async {
        defer { operationHasEnded() }
        let answer: QuotaAnswer? =
            (try? await access.ask(
                "a permit", by: timeSource, limit: nil, tell: { [news] in news.add($0) },
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
        apply(answer, key, access, timeSource)
    }

    private func apply(
        _ answer: QuotaAnswer?, _ key: QuotaKey, _ access: SharedAccess,
        _ timeSource: any TimeSource
    ) {
        let now = timeSource.now
        if case .coolingDown(let left) = answer { cooldowns?.learn(left, for: key, at: now) }
        var effects = QuotaEffects()
        let hasMoved = state.withLock { state in
            let (waiting, queue) = (state.waiting, state.queue)
            let change =
                state.lines.updateIfPresent(key) { line in
                    let wasLocal = line.isLocal
                    line.answered(answer, access, at: now)
                    serve(key, &line, timeSource, &effects)
                    let settled = effects.settledCount
                    refuse(answer, &line, key, excess: waiting - queue, at: now, &effects)
                    if effects.settledCount > settled { serve(key, &line, timeSource, &effects) }
                    return (line.isLocal ? 1 : 0) - (wasLocal ? 1 : 0)
                } ?? 0
            state.localLines += change
            state.waiting -= effects.settledCount
            return change != 0
        }
        if hasMoved { tellOfLocalLines() }
        perform(effects, key, timeSource)
    }

    // Calls that only waited for an answer are refused, as they would have been with it.
    private func refuse(
        _ answer: QuotaAnswer?, _ line: inout QuotaLine, _ key: QuotaKey, excess: Int,
        at now: MonotonicInstant, _ effects: inout QuotaEffects
    ) {
        let wait: Duration
        var isCooling = false
        switch answer {
        case .exhausted(let after): wait = after
        case .coolingDown(let left): (wait, isCooling) = (left, true)
        case .granted:
            if line.mayStartSoon(at: now.nanoseconds) { return }
            wait = Self.wait(from: now, until: line.firstStart ?? now.nanoseconds)
        case nil: return
        }
        if case .granted = answer {
        } else {
            let end = now.advanced(by: wait)
            for waiter in line.line.waiters where waiter.deadline.map({ $0 <= end }) ?? false {
                guard line.remove(waiter) else { continue }
                effects.failed.append((waiter, Self.late(key, wait, isCooling: isCooling)))
            }
        }
        var excess = excess - effects.settledCount
        while excess > 0, let last = line.line.last, line.remove(last) {
            effects.failed.append((last, Self.full(key, wait, isCooling: isCooling)))
            excess -= 1
        }
    }

    private func giveBack(
        _ permits: Int, _ key: String, _ access: SharedAccess, _ timeSource: any TimeSource
    ) {
        if permits > 0 {
            figures.add(Double(permits), to: "turnpike.rate_limit.given_back")
        }
        let rules = plan.storedRules
        if access.nextAdmission(at: timeSource.now) != nil {
            // A store that is slow would otherwise lose them, and nobody waits for it.
            access.run { store in try await store.giveBack(permits, to: key, rules: rules) }
            operationHasEnded()
            return
        }
        // Ends by itself, within the time limit. Nobody waits for it but the end of the gate.
        _ = Task.inheriting { [self] in
            defer { operationHasEnded() }
            _ = try? await access.ask(
                "the return of permits", by: timeSource, limit: nil,
                tell: { [news] in news.add($0) }, late: { (_: Bool) in }
            ) { store in
                try await store.giveBack(permits, to: key, rules: rules)
                return true
            }
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
