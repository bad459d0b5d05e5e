// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore

/// Limits how many calls are under way at once, in all and to each origin.
///
/// A call is under way until the body of its response has ended or was dropped, so a response that
/// is kept unread holds its permit. A call beyond the limits waits in line, within its deadline. If
/// the line is full, the last call of the lowest class fails at once as
/// ``/TurnpikeCore/ClientError/Code/overloaded``; with a `queue` of 0, so does each call beyond the
/// limits. A call that is cancelled, or whose deadline passes, leaves the line. Without a deadline,
/// it waits as long as it takes.
///
/// In the line, calls of higher classes go first (``TurnpikeCore/Call/criticality(_:)``), and among
/// those of one class it is first come, first served, or callers take turns (``takingTurns(by:)``).
/// Nothing starves: one turn in 20 goes to the call that has waited longest, if others went before
/// it. A call that waits for a busy origin does not delay calls to other origins.
///
/// A log outside of the gate has a line when calls begin to wait, not a line for each call. In ten
/// seconds, it has at most one such line for each origin, and one for the total.
///
/// For most clients, the place is inside a retry: there, it limits attempts and releases the permit
/// during a back-off. Placed outside a retry, it limits calls. A gate used in several stacks
/// is one shared limit. It keeps the state of 1024 origins; beyond that, it drops the least
/// recently used origin that has no call under way.
///
/// A gate inside may send a request through the same client, to refresh a token for instance. That
/// request needs its own permit while its call holds a permit. If such calls hold all permits, they
/// wait for each other until a deadline, or the time limit of the refresh, ends the wait. Place the
/// limit inside such a gate, or let the gate use another client.
///
/// The same holds for tasks that read streamed bodies and call the same origin for each element.
/// Such a call needs a permit while the task's body holds a permit. If the bodies hold all permits,
/// the calls wait until a deadline ends them; without a deadline, they wait forever. Give such
/// calls a deadline, or collect a body before the calls, or set a `queue` of 0.
public struct ConcurrencyLimit: Interceptor {
    private let permits: Permits
    private var key: (@Sendable (Request) -> String?)?

    /// Creates a limit.
    /// - Parameters:
    ///   - total: The most calls under way to all origins together.
    ///   - perOrigin: The most calls under way to one origin.
    ///   - queue: How many calls may wait, over all origins.
    ///   - adaptive: Adapts the limit of each origin to its server's capacity, up to `perOrigin`.
    ///   - meter: Receives the number of calls under way (`turnpike.concurrency_limit.in_flight`)
    ///     and waiting (`….waiting`), refused calls (`….refusals`), and adaptive limits
    ///     (`….limit`).
    public init(
        total: Int = 256, perOrigin: Int = 64, queue: Int = 1000, adaptive: AdaptiveLimit? = nil,
        meter: (any GateMeter)? = nil
    ) {
        permits = Permits(
            total: total, perOrigin: perOrigin, queue: queue, adaptive: adaptive, meter: meter)
    }

    /// Returns the limit with turns for those who wait: for each key, such as the name of a tenant, one
    /// call after another.
    ///
    /// ```swift
    /// ConcurrencyLimit().takingTurns { $0.headers["X-Tenant"] }
    /// ```
    ///
    /// Of the calls of one class (``Criticality``) that wait for an origin, each key has one turn in a
    /// round. If the line is full, the call that would have its turn last is refused. So a tenant with
    /// many calls does not delay the one call of another tenant.
    /// - Parameter key: Whose call it is; nil for the calls without a key, which have turns together.
    /// - Returns: The limit. It shares its permits with this one.
    public func takingTurns(by key: @escaping @Sendable (Request) -> String?) -> Self {
        var copy = self
        copy.key = key
        return copy
    }

    /// Takes the limits and the meter of another gate; calls under way keep their permits.
    ///
    /// A client thus still counts the calls that began before its stack was replaced.
    public func update(to other: ConcurrencyLimit) { permits.update(to: other.permits) }

    /// Flushes the meter.
    public func shutdown() async { await permits.figures.flush() }

    /// How many calls are under way.
    var underWay: Int { permits.heldCount }

    /// How many calls wait.
    var waiting: Int { permits.waitingCount }

    /// The current limit of an origin.
    func limit(of origin: Origin) -> Int { permits.limit(of: origin) }

    /// States the limits, and how long a request may wait for a permit.
    public func facts(for request: Request?) -> GateFacts? {
        let rules = permits.currentRules
        var facts = GateFacts(
            "lets \(rules.total) requests at once through, \(rules.perOrigin) to one origin, and"
                + (rules.queue > 0
                    ? " the next \(rules.queue) wait"
                        + WaitingLine.text(of: request, takesTurns: key != nil)
                    : " refuses the others")
                + (rules.adaptive.map { $0.followsLatency ? "; adapts to latency" : "; adapts" }
                    ?? ""),
            .limitsConcurrency(min(rules.total, rules.perOrigin)), .answers(.refusal))
        if rules.queue > 0 { facts.effects.append(.waits(atMost: nil, reason: "a permit")) }
        if rules.adaptive?.followsLatency == true {
            facts.order = [.retry, .cache].map {
                GateOrder(
                    .inside, $0,
                    because: "Its back-off, or its stored responses, would count as the latency of"
                        + " the server, which sets the limit.")
            }
        }
        return facts
    }

    /// The permits that are taken, and the line.
    public func liveFigures(at now: MonotonicInstant) -> [LiveFigure] { permits.liveFigures }

    /// Waits for a permit and holds it until the body ends.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        guard let origin = request.origin else { return try await next(request) }
        do {
            let precedence = Precedence(of: request, by: key)
            if let waiter = try permits.take(origin, precedence, timeSource: context.timeSource) {
                try await wait(waiter, for: origin, in: context)
            }
        } catch let error where ClientError.Code.overloaded ~= error {
            context.report(
                count: "turnpike.concurrency_limit.refusals", labels: origin.meterLabels,
                of: permits.figures)
            throw error
        }
        let permit = Permit(permits, origin)
        let sentAt = permits.followsLatency ? context.timeSource.now : nil
        do {
            let response = try await next(request)
            permits.observe(
                Outcome(request: request, result: .success(response)), origin,
                sentAt: sentAt, at: context.timeSource.now)
            if response.body.isEmpty {
                permit.giveBack()
            } else {
                response.body.onEnd { _ in permit.giveBack() }
            }
            return response
        } catch {
            permits.observe(
                Outcome(request: request, result: .failure(error)), origin,
                sentAt: sentAt, at: context.timeSource.now)
            permit.giveBack()
            throw error
        }
    }

    private func wait(_ waiter: Waiter, for origin: Origin, in context: Context) async throws {
        try await waiter.wait(
            in: context, for: "line for a permit",
            atDeadline: "in line for a permit to call \(origin)",
            saying: "calls to \(origin) wait in line: at most \(permits.limit(of: origin)) may be"
                + " under way to it, and \(permits.total) in all",
            by: gateName, gauges: { permits.tell(of: origin) }
        ) { [permits] in permits.leave(origin, $0) }
    }
}

extension ConcurrencyLimit: PromptlyCancellable {}

extension Gate where Self == ConcurrencyLimit {
    /// Limits how many calls are under way at once; see
    /// ``ConcurrencyLimit/init(total:perOrigin:queue:adaptive:meter:)``.
    public static func concurrencyLimit(
        total: Int = 256, perOrigin: Int = 64, queue: Int = 1000, adaptive: AdaptiveLimit? = nil,
        meter: (any GateMeter)? = nil
    ) -> Self {
        ConcurrencyLimit(
            total: total, perOrigin: perOrigin, queue: queue, adaptive: adaptive, meter: meter)
    }
}

/// One permit, which is returned once.
final class Permit: Sendable {
    private let permits: Permits
    private let origin: Origin
    private let isGivenBack = Atomic(false)

    init(_ permits: Permits, _ origin: Origin) {
        self.permits = permits
        self.origin = origin
        permits.tell(of: origin)
    }

    // Returns the permit even if a gate outside drops the response.
    deinit { giveBack() }

    func giveBack() {
        if !isGivenBack.exchange(true, ordering: .acquiringAndReleasing) {
            permits.giveBack(origin)
            permits.tell(of: origin)
        }
    }
}
