// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport
import TurnpikeTraffic

struct EndpointEjection: Sendable {
    enum Reason: String, Sendable, CaseIterable {
        case consecutiveFailures = "consecutive_failures"
        case successRatio = "success_ratio"
        case check
    }

    let reason: Reason
    let text: String
}

extension LoadBalancer {
    // MARK: Outcomes

    func conclude(_ lease: EndpointLease, _ verdict: CircuitVerdict, in context: Context) {
        guard lease.end() else { return }
        if verdict == .ignored { lease.giveUp(at: context.timeSource.now) }
        judge(lease, verdict, in: context)
    }

    /// Counts the verdict on a request once, and ejects the endpoint if necessary.
    func judge(_ lease: EndpointLease, _ verdict: CircuitVerdict, in context: Context) {
        let member = lease.member
        switch verdict {
        case .ignored: return
        case .success:
            _ = member.health.count(.success, generation: lease.generation)
            return
        case .failure: break
        }
        let now = context.timeSource.now
        guard lease.fail(at: now) else { return }
        let failures = member.health.count(.failure, generation: lease.generation)
        guard failures > 0 else { return }
        let row = "\(failures) failure\(failures == 1 ? "" : "s") in a row"
        let (ejection, spared) = state.withLock { state -> (EndpointEjection?, String?) in
            let limit = state.rules.health.consecutiveFailures
            guard limit > 0, failures >= limit else { return (nil, nil) }
            defer { note(&state) }
            let ejection = eject(member, .consecutiveFailures, row, &state, at: now)
            if ejection != nil { renew(&state, at: now) }
            return (ejection, ejection == nil ? reasonToSpare(member, state) : nil)
        }
        if let spared {
            context.report(
                count: "turnpike.endpoints.spared", labels: service.meterLabels, of: figures)
            context.report(
                "\(member.endpoint) stays in use after \(row): \(spared)", by: "Endpoints")
        }
        guard let ejection else { return }
        report(ejection, in: context)
        tell()
    }

    // Reports an ejection to the log and the meter. The caller must hold no lock.
    func report(_ ejection: EndpointEjection, in context: Context) {
        let figure = GateFigure.ejections(of: service, ejection.reason)
        context.report(count: figure.name, labels: figure.labels, of: figures)
        context.report(ejection.text, by: "Endpoints")
    }

    // MARK: Ejections, under the lock of the state

    private func eject(
        _ member: EndpointMember, _ reason: EndpointEjection.Reason,
        _ text: @autoclosure () -> String, _ state: inout State, at now: MonotonicInstant
    ) -> EndpointEjection? {
        let health = state.rules.health
        guard isPresent(member, state),
            state.ejectedCount < health.mostEjected(of: state.order.count),
            let time = member.health.eject(at: now, health)
        else { return nil }
        state.ejectedCount += 1
        state.returnAt = min(state.returnAt, now.advanced(by: time))
        return EndpointEjection(
            reason: reason,
            text: "\(member.endpoint) is ejected for \(time.text) after \(text())")
    }

    // Returns the reason why a failing endpoint is not ejected, or nil for no report.
    private func reasonToSpare(_ member: EndpointMember, _ state: State) -> String? {
        guard state.rules.health.maxEjected > 0, isPresent(member, state),
            member.health.standing != .ejected
        else { return nil }
        let count = state.order.count
        return count == 1
            ? "it is the only endpoint"
            : "\(state.ejectedCount) of \(count) endpoints are ejected, which is the limit"
    }

    private func isPresent(_ member: EndpointMember, _ state: State) -> Bool {
        state.members[member.endpoint.target]?.health === member.health
    }

    /// Compares the success ratios since the last sweep, and ejects endpoints far below the others.
    func sweep(_ state: inout State, at now: MonotonicInstant) -> [EndpointEjection] {
        let health = state.rules.health
        let start = state.sweptAt
        state.sweptAt = now
        state.sweepAt = now.advanced(by: health.interval)
        let outcomes = state.order.map { $0.health.takeWindow(since: start) }
        let outliers = EndpointOutcomes.outliers(
            among: outcomes, minimum: health.minimumRequests, deviations: health.deviations)
        return outliers.compactMap { index in
            let (outcome, member) = (outcomes[index], state.order[index])
            return eject(
                member, .successRatio,
                "\(outcome.failures) failures of \(outcome.count) requests, a larger share than"
                    + " that of the other endpoints", &state, at: now)
        }
    }

    /// Ends due ejections, and returns whether any endpoint is used again.
    func giveBack(_ state: inout State, at now: MonotonicInstant) -> Bool {
        guard now >= state.returnAt else { return false }
        let (before, health) = (state.ejectedCount, state.rules.health)
        countEjected(&state) { member, until in
            if now < until { return true }
            giveBack(member, health, at: now)
            return false
        }
        keepBounds(&state, at: now)
        return state.ejectedCount != before
    }

    /// Counts the ejected endpoints of a new list, and enforces the limit of ejections.
    func countEjected(_ state: inout State, at now: MonotonicInstant) {
        countEjected(&state) { _, _ in true }
        keepBounds(&state, at: now)
    }

    // After a change of the list or the rules, too many endpoints may be ejected. The endpoints
    // with the earliest ends of ejections return at once.
    private func keepBounds(_ state: inout State, at now: MonotonicInstant) {
        let excess =
            state.ejectedCount - state.rules.health.mostEjected(of: state.order.count)
        guard excess > 0 else { return }
        let ejected = state.order.compactMap { member in
            member.health.ejectedUntil.map { (member: member, until: $0) }
        }
        for (member, _) in ejected.sorted(by: { $0.until < $1.until }).prefix(excess) {
            giveBack(member, state.rules.health, at: now)
        }
        countEjected(&state) { _, _ in true }
    }

    private func giveBack(
        _ member: EndpointMember, _ rules: EndpointHealth, at now: MonotonicInstant
    ) {
        member.health.giveBack(at: now, rules)
        member.startSlowly(at: now)
    }

    private func countEjected(
        _ state: inout State, _ stays: (EndpointMember, MonotonicInstant) -> Bool
    ) {
        var count = 0
        var returnAt = MonotonicInstant(nanoseconds: .max)
        for member in state.order {
            guard let until = member.health.ejectedUntil, stays(member, until) else { continue }
            count += 1
            returnAt = min(returnAt, until)
        }
        state.ejectedCount = count
        state.returnAt = returnAt
    }

    // MARK: Checks

    func endCheck(
        of member: EndpointMember, _ isWell: Bool?, _ rules: EndpointHealthCheck,
        at now: MonotonicInstant
    ) {
        guard let isUp = member.health.endCheck(isWell, rules) else { return }
        let isKnown = state.withLock { state in
            guard isPresent(member, state) else { return false }
            defer { note(&state) }
            if isUp { member.startSlowly(at: now) }
            renew(&state, at: now)
            // No call waits for a check. The next call reports the line.
            if state.news.count < 16 {
                let text = isUp ? "is used again: its checks succeed" : "is down: its checks fail"
                state.news.append("\(member.endpoint) \(text)")
            }
            return true
        }
        guard isKnown else { return }
        if !isUp {
            let figure = GateFigure.ejections(of: service, .check)
            figures.add(1, to: figure.name, labels: figure.labels)
        }
        tell()
    }
}

extension GateFigure {
    static func ejections(
        of service: ServiceName, _ reason: EndpointEjection.Reason
    ) -> GateFigure {
        .counter(
            "turnpike.endpoints.ejections",
            service.meterLabels.merging(["reason": reason.rawValue]) { $1 })
    }
}
