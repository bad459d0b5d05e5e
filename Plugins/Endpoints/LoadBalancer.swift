// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// The current endpoints of one logical name, with the state of each endpoint.
///
/// Calls read an immutable view. A new list, an ejection and the return of an endpoint create a new
/// view. There is no thread and no timer. The first call after a due time does the due work.
final class LoadBalancer: Sendable {
    struct View: Sendable {
        let set: EndpointSet
        /// Whether the set contains all endpoints because too few endpoints are healthy.
        let isInPanic: Bool
        let slowStart: Duration
    }

    struct State {
        var rules: EndpointRules
        var members: [ConnectTarget: EndpointMember] = [:]
        // The members in the order of the list.
        var order: [EndpointMember] = []
        // The list of the resolver, with repetitions and before the choice of a subset.
        var listed: [Endpoint] = []
        var ejectedCount = 0
        var source = SourceState()
        // The time when the first ejection ends.
        var returnAt = MonotonicInstant(nanoseconds: .max)
        // The times of the last and the next comparison of outcomes.
        var sweptAt = MonotonicInstant(nanoseconds: .max)
        var sweepAt = MonotonicInstant(nanoseconds: .max)
        // The time of the last view that may be delayed, and the time when a delayed view is due.
        var renewedAt = MonotonicInstant(nanoseconds: .min)
        var renewAt = MonotonicInstant(nanoseconds: .max)
        // Lines for the log, which the next calls report.
        var news: [String] = []
    }

    let service: ServiceName
    let figures: GateFigures
    let checks: EndpointChecks
    let state: Mutex<State>
    private let dice = EndpointSequence()
    private let present = Mutex<View?>(nil)
    // When the next work is due, in nanoseconds. Earlier calls take only the lock of the view.
    private let dueAt = Atomic(Int64.min)

    private static let help = [
        "turnpike.endpoints.count":
            "Endpoints of the current list: usable, ejected after failures, or down by their"
            + " checks.",
        "turnpike.endpoints.ejections":
            "Ejections of endpoints: for consecutive failures, for a success ratio far below the"
            + " others', or by checks.",
        "turnpike.endpoints.refresh_failures":
            "Failed requests for a list of endpoints; the last list stayed in use.",
        "turnpike.endpoints.panics":
            "Requests that were sent to any endpoint because too few were healthy.",
        "turnpike.endpoints.spared":
            "Failures after which an endpoint was not ejected, because it was the only endpoint"
            + " or the limit of ejections was reached.",
    ]

    init(_ service: ServiceName, _ rules: EndpointRules, meter: (any GateMeter)?) {
        self.service = service
        checks = EndpointChecks(rules.health.check)
        let labels = service.meterLabels
        figures = GateFigures(
            meter, help: Self.help,
            counters: [
                .counter("turnpike.endpoints.refresh_failures", labels),
                .counter("turnpike.endpoints.panics", labels),
            ] + EndpointEjection.Reason.allCases.map { .ejections(of: service, $0) })
        state = Mutex(State(rules: rules))
    }

    // The refresh and the checks do not retain the balancer, and end with the balancer.
    deinit { stop() }

    var members: [EndpointMember] { state.withLock { $0.order } }

    var text: String {
        let rules = state.withLock { $0.rules }
        return "\(rules.resolver.summary), \(rules.policyText)"
    }

    /// Adopts the rules and the meter of another balancer.
    ///
    /// The endpoints keep their state, and the next call requests a list from the new resolver.
    func update(to other: LoadBalancer) {
        let rules = other.state.withLock { $0.rules }
        checks.update(rules.health.check)
        let ended = state.withLock { state in
            defer { note(&state) }
            state.rules = rules
            state.listed = []
            // Under the new rules, no check may correct the results of former checks.
            for member in state.order { member.health.forgetChecks() }
            // The next call checks whether too many endpoints are ejected under the new rules.
            if state.ejectedCount > 0 { state.returnAt = MonotonicInstant(nanoseconds: .min) }
            renew(&state)
            return state.source.end(asksAgain: true)
        }
        ended?.settle(.failure(ListRefresh.Ended()))
        figures.move(to: other.figures.meter)
        tell()
    }

    // Ends the refresh and the checks. A later call begins both again.
    func stop() {
        checks.stop()
        let ended = state.withLock { state in
            defer { note(&state) }
            return state.source.end(asksAgain: false)
        }
        ended?.settle(.failure(ListRefresh.Ended()))
    }

    // MARK: The view

    /// Does the due work, waits for the first list, and returns the view for a call.
    func view(
        in context: Context, for origin: Origin, _ next: Next
    ) async throws -> View {
        let now = context.timeSource.now
        if now.nanoseconds >= dueAt.load(ordering: .acquiring) { doWhatIsDue(in: context) }
        checks.go(on: self, origin, next, context)
        if let view = present.withLock({ $0 }) { return view }
        try await firstList(in: context)
        guard let view = present.withLock({ $0 }) else { throw noList(nil, retryAfter: nil) }
        return view
    }

    func lease(
        of view: View, for request: Request, in context: Context
    ) throws -> EndpointLease {
        let now = context.timeSource.now
        // Calls share a sequence, because a generator for each call is slower than the choice.
        let number = dice.next { context.random.next() }
        let bits = EndpointHash.mixed(number &* EndpointSequence.golden)
        let tried = context.value(of: TriedOfCallKey.self) { TriedOfCall() }
        let pick = tried.choosing {
            view.set.choose(for: request, at: now, bits: bits, avoiding: $0)
        }
        guard let pick else { throw noList(nil, retryAfter: nil) }
        context.report(text(of: pick, in: view, at: now), by: "Endpoints", describesPass: true)
        if view.isInPanic {
            context.report(
                count: "turnpike.endpoints.panics", labels: service.meterLabels, of: figures)
        }
        return EndpointLease(pick.member, at: now)
    }

    // Describes the choice before the request counts as running, with the reason for the use of a
    // slow or unhealthy endpoint.
    private func text(
        of pick: PickResult, in view: View, at now: MonotonicInstant
    ) -> String {
        let (member, endpoint) = (pick.member, pick.member.endpoint)
        var parts = ["\(member.underWay) under way"]
        if let latency = member.latency(at: now) { parts.append("answers in \(latency.text)") }
        if let zone = endpoint.zone { parts.append("zone \(zone)") }
        let standing = member.health.standing
        if standing != .usable { parts.append(standing.rawValue) }
        if member.startsSlowly(at: now, within: view.slowStart) {
            parts.append("in its slow start")
        }
        switch pick.reason {
        case .rule: break
        case .otherZone: parts.append("in another zone")
        case .allTried: parts.append("all were tried")
        }
        if view.isInPanic { parts.append("too few endpoints are healthy, and all are used") }
        return "\(endpoint) (\(parts.joined(separator: "; ")))"
    }

    // MARK: Due work

    /// Does the due work, and requests a due list unless a request is already running.
    func doWhatIsDue(in context: Context) {
        let now = context.timeSource.now
        let unit = context.random.unit()
        let (refresh, ejections, news, hasChanged) = state.withLock { state in
            defer { note(&state) }
            let ejections = now >= state.sweepAt ? sweep(&state, at: now) : []
            let hasReturned = giveBack(&state, at: now)
            let hasChanged = hasReturned || !ejections.isEmpty || now >= state.renewAt
            if hasChanged { renew(&state, at: now) }
            let refresh =
                state.source.isDue(at: now)
                ? state.source.begin(state.rules.resolver, in: context, jitter: unit) : nil
            defer { state.news = [] }
            return (refresh, ejections, state.news, hasChanged)
        }
        if let refresh { run(refresh) }
        for text in news { context.report(text, by: "Endpoints") }
        for ejection in ejections { report(ejection, in: context) }
        if hasChanged { tell() }
    }

    // Sets the next due time after a change of the state. The caller holds the lock.
    func note(_ state: inout State) {
        var next = min(state.returnAt, state.sweepAt, state.renewAt)
        if let refreshAt = state.source.dueAt { next = min(next, refreshAt) }
        if !state.news.isEmpty { next = MonotonicInstant(nanoseconds: .min) }
        dueAt.store(next.nanoseconds, ordering: .releasing)
    }

    // Creates a new view. The caller holds the lock of the state.
    //
    // The cost grows with the number of endpoints. If thousands of endpoints fail at once, the
    // delay between two views keeps calls fast. Without `now`, no view is delayed.
    func renew(_ state: inout State, at now: MonotonicInstant? = nil) {
        if state.order.isEmpty { return }
        if let now, state.order.count > 1024 {
            let pause = Duration.microseconds(10) * state.order.count
            let earliest = state.renewedAt.advanced(by: pause)
            if now < earliest {
                state.renewAt = earliest
                return
            }
            state.renewedAt = now
        }
        let health = state.rules.health
        let well = state.order.count { $0.health.isUsable }
        let isInPanic = health.isPanic(well: well, of: state.order.count)
        // Only this method changes the view. The old view is released outside of the view's lock.
        let former = present.withLock { $0 }
        let set = EndpointSet(
            state.order, state.rules.policy, zone: state.rules.zone, slowStart: health.slowStart,
            continuing: former?.set, isUsable: { isInPanic || $0.health.isUsable })
        let view = View(set: set, isInPanic: isInPanic, slowStart: health.slowStart)
        present.withLock { $0 = view }
        withExtendedLifetime(former) {}
        state.renewAt = MonotonicInstant(nanoseconds: .max)
    }

    // MARK: Metrics

    func liveFigures(at now: MonotonicInstant) -> [LiveFigure] {
        let (members, failure) = state.withLock { ($0.order, $0.source.failure) }
        let away = members.filter { !$0.health.isUsable }.map { member in
            let left = member.health.ejectedUntil.map {
                "ejected, \(now.duration(to: $0).text) left"
            }
            return LiveFigure("\(member.endpoint)", left ?? "down by its checks", isTrouble: true)
        }
        let count = LiveFigure("usable", "\(members.count - away.count) of \(members.count)")
        let list = failure.map { LiveFigure("list", "did not come: \($0)", isTrouble: true) }
        return away + [count] + (list.map { [$0] } ?? [])
    }

    func tell() {
        figures.tell {
            let counts = state.withLock { state in
                var counts: [EndpointState: Int] = [:]
                for member in state.order { counts[member.health.standing, default: 0] += 1 }
                return counts
            }
            var gauges: [GateFigure: Double?] = [:]
            for standing in EndpointState.allCases {
                let labels = service.meterLabels.merging(["state": standing.rawValue]) { $1 }
                gauges[.gauge("turnpike.endpoints.count", labels)] = Double(
                    counts[standing, default: 0])
            }
            return gauges
        }
    }
}

/// The settings of a gate for its endpoints; a reload may replace the settings.
struct EndpointRules: Sendable {
    let resolver: any EndpointResolver
    let policy: BalancingPolicy
    let zone: EndpointZone?
    let subset: EndpointSubset?
    let health: EndpointHealth

    var policyText: String {
        "by \(policy)" + (zone.map { ", first those of zone \($0.name)" } ?? "")
    }
}
