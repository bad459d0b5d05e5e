// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore

/// Limits the number of calls that run at once, in total and for each origin.
///
/// A call runs until the response body has ended or was dropped. A response with an unread body
/// therefore holds a permit. A call beyond the limits waits in a queue until its deadline. If the
/// queue is full, the last call of the lowest class fails at once as
/// ``/TurnpikeCore/ClientError/Code/overloaded``. With a `queue` of 0, each call beyond the limits
/// fails. A call leaves the queue if the call is cancelled or the deadline of the call passes. A
/// call without a deadline may wait forever.
///
/// In the queue, calls of higher classes start first (``TurnpikeCore/Call/criticality(_:)``). Calls
/// of one class start in the order of arrival, or callers take turns (``takingTurns(by:)``). If
/// later calls start before the oldest call, the oldest call gets one of 20 turns. Every call
/// therefore starts at some time. A call that waits for a busy origin does not delay calls to other
/// origins.
///
/// An outer log gate writes a line when calls begin to wait, not a line for each call. In ten
/// seconds, the log gets at most one such line for each origin, and one for the total.
///
/// For most clients, place the limit inside a retry. In this place, the limit counts attempts, and
/// releases the permit during a back-off. Outside a retry, the limit counts calls. If one gate is
/// in several stacks, these stacks share the permits. The gate keeps the state of 1024 origins. A
/// further origin replaces the least recently used origin without a running call.
///
/// An inner gate may send a request through the same client, for example to refresh a token. This
/// request needs a second permit while the original call holds a permit. If these calls hold all
/// permits, the calls wait for one another until a deadline or the time limit of the refresh. To
/// avoid the wait, place the limit inside this gate, or use another client in the gate.
///
/// A task that reads a streamed body and calls the same origin for each element has the same
/// problem. If streamed bodies hold all permits, the calls wait until a deadline ends the calls.
/// Without a deadline, the calls wait forever. Give these calls a deadline, collect the body before
/// the calls, or set a `queue` of 0.
public struct ConcurrencyLimit: Interceptor {
    private let permits: Permits
    private var key: (@Sendable (Request) -> String?)?

    /// Creates a limit.
    /// - Parameters:
    ///   - total: The maximum number of running calls to all origins together.
    ///   - perOrigin: The maximum number of running calls to one origin.
    ///   - queue: The maximum number of waiting calls to all origins together.
    ///   - adaptive: Adapts the limit of each origin to its server's capacity, up to `perOrigin`.
    ///   - meter: Receives the number of running calls (`turnpike.concurrency_limit.in_flight`),
    ///     waiting calls (`….waiting`) and refused calls (`….refusals`), and adaptive limits
    ///     (`….limit`).
    public init(
        total: Int = 256, perOrigin: Int = 64, queue: Int = 1000, adaptive: AdaptiveLimit? = nil,
        meter: (any GateMeter)? = nil
    ) {
        permits = Permits(
            total: total, perOrigin: perOrigin, queue: queue, adaptive: adaptive, meter: meter)
    }

    /// Returns a limit in which waiting calls of different keys, such as tenants, take turns.
    ///
    /// ```swift
    /// ConcurrencyLimit().takingTurns { $0.headers["X-Tenant"] }
    /// ```
    ///
    /// In each round, one call of each key starts, among the waiting calls of one class
    /// (``Criticality``) to an origin. If the queue is full, the call whose turn would
    /// come last is refused. Many calls of one tenant do not delay a single call of another tenant.
    /// - Parameter key: The key of a request. Calls without a key (nil) take turns together.
    /// - Returns: The new limit, which shares its permits with this limit.
    public func takingTurns(by key: @escaping @Sendable (Request) -> String?) -> Self {
        var copy = self
        copy.key = key
        return copy
    }

    /// Adopts the limits and the meter of another gate.
    ///
    /// Running calls keep their permits. A client may therefore replace its stack.
    public func update(to other: ConcurrencyLimit) { permits.update(to: other.permits) }

    /// Flushes the meter.
    public func shutdown() async { await permits.figures.flush() }

    var underWay: Int { permits.heldCount }

    var waiting: Int { permits.waitingCount }

    func limit(of origin: Origin) -> Int { permits.limit(of: origin) }

    /// Reports the limits, and the longest wait of a request for a permit.
    public func facts(for request: Request?) -> GateFacts? {
        let rules = permits.currentRules
        var facts = GateFacts(
            "lets through \(rules.total) requests at once, \(rules.perOrigin) to one origin, and"
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
                    because: "The back-off or the stored responses would count as latency of the"
                        + " server, and the limit depends on this latency.")
            }
        }
        return facts
    }

    /// The number of taken permits and of waiting calls.
    public func liveFigures(at now: MonotonicInstant) -> [LiveFigure] { permits.liveFigures }

    /// Waits for a permit, and holds the permit until the response body ends.
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
    /// Limits the number of calls that run at once; see
    /// ``ConcurrencyLimit/init(total:perOrigin:queue:adaptive:meter:)``.
    public static func concurrencyLimit(
        total: Int = 256, perOrigin: Int = 64, queue: Int = 1000, adaptive: AdaptiveLimit? = nil,
        meter: (any GateMeter)? = nil
    ) -> Self {
        ConcurrencyLimit(
            total: total, perOrigin: perOrigin, queue: queue, adaptive: adaptive, meter: meter)
    }
}

// One permit. The object returns the permit exactly once.
final class Permit: Sendable {
    private let permits: Permits
    private let origin: Origin
    private let isGivenBack = Atomic(false)

    init(_ permits: Permits, _ origin: Origin) {
        self.permits = permits
        self.origin = origin
        permits.tell(of: origin)
    }

    deinit { giveBack() }

    func giveBack() {
        if !isGivenBack.exchange(true, ordering: .acquiringAndReleasing) {
            permits.giveBack(origin)
            permits.tell(of: origin)
        }
    }
}
