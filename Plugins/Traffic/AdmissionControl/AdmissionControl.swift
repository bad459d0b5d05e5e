// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// Refuses some calls to an overloaded origin, to help the origin serve the other calls.
///
/// An overloaded server answers few calls in time, because the server works on requests whose
/// clients have given up. A retry budget limits the load of retries, and a ``CircuitBreaker`` sends
/// nothing for some time. This gate finds the share of the calls that the server can serve, and
/// sends only this share (client-side throttling: "Site Reliability Engineering", 2016, chapter
/// 21).
///
/// A refused call fails immediately with ``/TurnpikeCore/ClientError/Code/overloaded``. No part of
/// the call is sent, and an outer retry gate does not repeat the call. If the server rejects no
/// further calls, the gate admits all calls after ``/TurnpikeCore/ClientError/retryAfter``.
/// Sheddable calls are refused first, and critical calls last
/// (``TurnpikeCore/Call/criticality(_:)``).
///
/// The gate admits all calls until the server has rejected more than `threshold` of the latest
/// attempts. With few attempts, three rejections in a row are enough. With many attempts, most
/// attempts of the last half second must be rejected. Attempts that end at the same time count as
/// one attempt. In this case, the gate reduces the admitted share to 3 %, and the server's queue
/// empties. The share grows with time, slowly at first, and reaches all calls after `recovery`.
/// Further rejections reduce the share again. Attempts that were sent before a reduction do not
/// count. While the gate refuses calls, an attempt with a much longer wait for the head than usual
/// counts as rejected, because a growing queue first delays responses and then causes errors. The
/// share also grows if no attempt ends. The gate therefore tries a silent origin again.
///
/// By default, a rejection is a 429, 503 or 504, or an attempt or a connection that takes too long
/// (``standardVerdict(_:)``). An attempt ends at the end of the response body. If the caller
/// cancels the call or the deadline of the call passes, the attempt does not count. An inner
/// ``/TurnpikeMiddleware/AttemptTimeout`` is needed to notice a server that never answers.
///
/// Place this gate inside ``/TurnpikeMiddleware/Retry`` and ``Hedge``, because the gate must see
/// each attempt. Place the gate outside of a ``CircuitBreaker``, which is optional. A client with
/// less than one call per second to a server cannot measure the share. Use one gate in the stacks
/// of all clients of a process. The gate keeps the shares of 1024 origins. A further origin
/// replaces the least recently used origin. Calls to the replaced origin are all admitted. All
/// endpoints of one name have one share.
public struct AdmissionControl: Interceptor {
    private let shares: AdmissionShares
    private let decide: @Sendable (Outcome) -> CircuitVerdict

    /// Creates a gate that refuses calls to overloaded origins.
    /// - Parameters:
    ///   - threshold: The share of rejected attempts, from 0 to 0.99, above which the gate admits
    ///     fewer calls.
    ///   - recovery: The time in which the admitted share grows from zero to all calls.
    ///   - slowness: The longest wait for a head while calls are refused, as a multiple of the
    ///     usual wait. After a longer wait, the attempt counts as rejected. With nil, no wait
    ///     counts as a rejection.
    ///   - meter: Receives the share of refused calls (`turnpike.admission_control.refused_share`)
    ///     and the number of refused calls (`turnpike.admission_control.refusals`).
    ///   - verdict: Decides whether an outcome is a rejection (``CircuitVerdict/failure``).
    ///     ``/TurnpikeCore/Outcome/elapsed`` is the time to the head. The closure is not called for
    ///     a cancellation.
    public init(
        threshold: Double = 0.7, recovery: Duration = .seconds(15), slowness: Double? = 4,
        meter: (any GateMeter)? = nil,
        verdict: @escaping @Sendable (Outcome) -> CircuitVerdict =
            AdmissionControl.standardVerdict
    ) {
        let rules = AdmissionShare.Rules(
            threshold: threshold, recovery: recovery, slowness: slowness)
        shares = AdmissionShares(rules, meter: meter)
        decide = verdict
    }

    /// Adopts the rules and the meter of another gate, but not the shares of the other gate.
    ///
    /// The servers' shares remain when a client replaces its stack.
    public func update(to other: AdmissionControl) { shares.update(to: other.shares) }

    /// The default rule, by which a 429, 503 or 504 and an exceeded time limit are rejections.
    ///
    /// The rule applies to the time limits for a connection, an attempt and an idle body. Any other
    /// response is accepted, and any other error is ignored.
    ///
    /// If a proxy refuses to connect, the proxy's response is a rejection with the same statuses,
    /// but is never accepted. A refused connection is ignored. A client without a network would
    /// otherwise refuse calls even after the network has returned.
    public static func standardVerdict(_ outcome: Outcome) -> CircuitVerdict {
        if let status = outcome.proxyStatus {
            return rejections.contains(status) ? .failure : .ignored
        }
        if let status = outcome.status { return rejections.contains(status) ? .failure : .success }
        switch outcome.code {
        case .attemptTimeout?, .connectTimeout?, .idleTimeout?: return .failure
        default: return .ignored
        }
    }

    private static let rejections: Set<HTTPStatus> = [429, 503, 504]

    /// Flushes the meter.
    public func shutdown() async { await shares.figures.flush() }

    func share(of origin: Origin, at now: MonotonicInstant) -> Double {
        shares.share(of: origin, at: now)
    }

    var originCount: Int { shares.count }

    /// The request option for the importance of a call.
    public var handledOptions: [any RequestOptionKey.Type] { [CriticalityOption.self] }

    /// Reports the gate's rules, and that the gate refuses requests.
    public func facts(for request: Request?) -> GateFacts? {
        let rules = shares.rules
        return GateFacts(
            "refuses a share of the requests to an origin that rejects more than"
                + " \(Int((rules.threshold * 100).rounded())) % of them, and admits all after"
                + " \(rules.recovery.text) without rejections",
            .answers(.refusal),
            order: [
                GateOrder(
                    .inside, .retry,
                    because:
                        "The gate would see calls, not attempts, and rejections that a retry hides"
                        + " would not count."),
                GateOrder(
                    .inside, .hedge,
                    because: "The gate would count all copies of a request as one, and a good copy"
                        + " would hide what the server rejects."),
                GateOrder(
                    .outside, .endpoints,
                    because:
                        "An endpoint would be chosen, and count as tried, for a request that is"
                        + " refused."),
                GateOrder(
                    .outside, .circuitBreaker,
                    because: "The gate may refuse the calls that the breaker admits as probes, and"
                        + " the circuit then stays open for longer."),
                GateOrder(.outside, .rateLimit, because: Self.inLine),
                GateOrder(.outside, .concurrencyLimit, because: Self.inLine),
                GateOrder(
                    .outsideOfPresent, .attemptTimeout,
                    because: "The gate notices that a server hangs only when an attempt ends."),
            ])
    }

    private static let inLine =
        "A call would wait in line although it is refused afterwards. This wait could delay a call"
        + " of a higher class, or cause the refusal of that call."

    /// The origins with refused calls.
    public func liveFigures(at now: MonotonicInstant) -> [LiveFigure] {
        shares.liveFigures(at: now)
    }

    /// Sends the request if the call is admitted.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        guard let origin = request.origin else { return try await next(request) }
        try pass(request, to: origin, context)
        let sentAt = context.timeSource.now
        do {
            let response = try await next(request)
            watch(response, to: request, origin, sentAt, context)
            return response
        } catch {
            let end = context.timeSource.now
            let elapsed = sentAt.duration(to: end)
            let verdict = verdict(request, .failure(error), after: elapsed, context)
            conclude(verdict, origin, sentAt, elapsed, context)
            throw error
        }
    }

    private func pass(_ request: Request, to origin: Origin, _ context: Context) throws {
        let criticality = request.options.isEmpty ? .default : request.options.criticality
        let answer = shares.admit(origin, criticality, at: context.timeSource.now) {
            context.random.unit()
        }
        guard case .refused(let share, let wait) = answer else { return }
        context.report(
            count: "turnpike.admission_control.refusals", labels: origin.meterLabels,
            of: shares.figures)
        throw ClientError(
            .overloaded,
            "\(origin) rejects most calls; \(Self.percent(share)) of the calls are sent now, and"
                + " all calls in \(wait.text) unless the server rejects further calls",
            transfer: TransferState(.connecting), retryAfter: wait)
    }

    private static func percent(_ share: Double) -> String {
        share < 0.01 ? "less than 1 %" : "\(Int(share * 100)) %"
    }

    private func watch(
        _ response: Response, to request: Request, _ origin: Origin, _ sentAt: MonotonicInstant,
        _ context: Context
    ) {
        let elapsed = sentAt.duration(to: context.timeSource.now)
        let atHead = decide(
            Outcome(request: request, result: .success(response), elapsed: elapsed))
        // After a good status, the body must also arrive completely.
        if atHead == .failure || response.body.isEmpty {
            return conclude(atHead, origin, sentAt, elapsed, context)
        }
        response.body.onEnd { [self] end in
            switch end.reason {
            case .finished, .dropped: conclude(atHead, origin, sentAt, elapsed, context)
            case .cancelled: break
            case .failed(let error):
                let verdict = verdict(request, .failure(error), after: elapsed, context)
                conclude(verdict, origin, sentAt, elapsed, context)
            }
        }
    }

    private func verdict(
        _ request: Request, _ result: Result<Response, any Error>, after elapsed: Duration,
        _ context: Context
    ) -> CircuitVerdict {
        let outcome = Outcome(request: request, result: result, elapsed: elapsed)
        let isGivenUp = outcome.isCancellation || context.cancelReason != nil
        return isGivenUp ? .ignored : decide(outcome)
    }

    private func conclude(
        _ verdict: CircuitVerdict, _ origin: Origin, _ sentAt: MonotonicInstant,
        _ elapsed: Duration, _ context: Context
    ) {
        if verdict == .ignored { return }
        let evidence: AdmissionShare.Evidence =
            verdict == .failure ? .rejected : .accepted(after: elapsed)
        if shares.record(evidence, origin, sentAt: sentAt, at: context.timeSource.now) {
            // If the closure captures `origin` itself and is inlined, the compiler (6.3) crashes.
            let server = origin.description
            context.report(
                "\(server) rejects most calls; a share of the calls is refused now", by: gateName)
        }
    }
}

extension AdmissionControl: PromptlyCancellable {}

extension Gate where Self == AdmissionControl {
    /// Refuses some calls to an origin that rejects most calls; see
    /// ``AdmissionControl/init(threshold:recovery:slowness:meter:verdict:)``.
    public static func admissionControl(
        threshold: Double = 0.7, recovery: Duration = .seconds(15), slowness: Double? = 4,
        meter: (any GateMeter)? = nil,
        verdict: @escaping @Sendable (Outcome) -> CircuitVerdict =
            AdmissionControl.standardVerdict
    ) -> Self {
        AdmissionControl(
            threshold: threshold, recovery: recovery, slowness: slowness, meter: meter,
            verdict: verdict)
    }
}
