// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// Stops sending to a failing origin, and sends probes to detect the recovery.
///
/// Each origin has a circuit. A circuit opens if at least `minimum` calls have ended in a rolling
/// window and `failureRatio` of these calls have failed. While a circuit is open, calls fail at
/// once as ``/TurnpikeCore/ClientError/Code/circuitOpen``. The
/// ``/TurnpikeCore/ClientError/retryAfter`` of the error is the time until the circuit is
/// half-open. A half-open circuit admits at most `probes` calls. If all these probes succeed, the
/// circuit closes. If a probe fails, the circuit opens again for twice the previous time, up to
/// `maxOpen`. If the probes do not end within the open time, the circuit admits new probes.
///
/// A call ends at the end of the response body. A body that breaks off is a failure. Cancelled
/// calls and calls whose deadline passes do not count. If a call that does not count was a probe,
/// another call becomes the probe.
///
/// The position of the gate decides what the gate counts. Inside a retry, the breaker counts
/// attempts, including attempts that the retry hides. An open circuit ends the retries of a call.
/// An inner ``/TurnpikeMiddleware/AttemptTimeout`` is needed to notice a server that never answers.
/// The position inside a retry is right for most clients. Outside a retry, the breaker counts
/// calls, and opens only if retries do not help.
///
/// If one gate is in several stacks, these stacks share the circuits. The gate keeps the circuits
/// of 1024 origins. A further origin replaces the least recently used circuit.
public struct CircuitBreaker: Interceptor {
    private let circuits: Circuits
    private let decide: @Sendable (Outcome) -> CircuitVerdict

    /// Creates a breaker.
    /// - Parameters:
    ///   - failureRatio: The share of failed calls in the window that opens the circuit.
    ///   - minimum: The minimum number of ended calls in the window before the circuit may open.
    ///   - window: The time over which calls are counted.
    ///   - open: The time for which the circuit stays open at first.
    ///   - maxOpen: The longest time that the circuit stays open after doubling.
    ///   - probes: The maximum number of calls that a half-open circuit admits.
    ///   - meter: Receives each change of a circuit's state (`turnpike.circuit_breaker.state`) and
    ///     the number of refused calls (`turnpike.circuit_breaker.refusals`).
    ///   - verdict: Decides whether the server works. The closure is not called for a cancellation.
    public init(
        failureRatio: Double = 0.5, minimum: Int = 20, window: Duration = .seconds(30),
        open: Duration = .seconds(15), maxOpen: Duration = .seconds(120), probes: Int = 3,
        meter: (any GateMeter)? = nil,
        verdict: @escaping @Sendable (Outcome) -> CircuitVerdict = CircuitVerdict.standard
    ) {
        let rules = Circuit.Rules(
            failureRatio: failureRatio, minimum: minimum, open: open, maxOpen: maxOpen,
            probes: probes)
        circuits = Circuits(rules, window: window, meter: meter)
        decide = verdict
    }

    /// Adopts the rules and the meter of another breaker.
    ///
    /// An open circuit stays open. The circuits remain when a client replaces its stack.
    public func update(to other: CircuitBreaker) { circuits.update(to: other.circuits) }

    /// Flushes the meter.
    public func shutdown() async { await circuits.figures.flush() }

    /// Returns the state of an origin's circuit after the last call to the origin.
    public func state(of origin: Origin) -> CircuitState { circuits.state(of: origin) }

    /// Opens an origin's circuit manually, and fails all calls to the origin until
    /// ``close(_:by:)``.
    ///
    /// The gate admits no probe, and does not drop the circuit. A running call continues, but the
    /// outcome of the call no longer counts.
    /// - Parameters:
    ///   - origin: The origin that gets no more calls.
    ///   - name: The person or program that opens the circuit, for the errors of refused calls.
    public func isolate(_ origin: Origin, by name: String) { circuits.isolate(origin, by: name) }

    /// Closes an origin's circuit manually, after ``isolate(_:by:)`` or after failures.
    ///
    /// The counts of the circuit restart at zero. If the origin still fails, the circuit opens
    /// again.
    /// - Parameters:
    ///   - origin: The origin that gets calls again.
    ///   - name: The person or program that closes the circuit, for the report of the next call.
    public func close(_ origin: Origin, by name: String) { circuits.close(origin, by: name) }

    /// Returns the time for which an origin's circuit still refuses calls.
    /// - Parameters:
    ///   - origin: The origin.
    ///   - timeSource: The clock of the client that uses the breaker.
    /// - Returns: The remaining time, zero if calls are admitted, or nil after ``isolate(_:by:)``.
    public func remaining(
        of origin: Origin, on timeSource: any TimeSource = SystemTimeSource()
    ) -> Duration? { circuits.remaining(of: origin, at: timeSource.now) }

    /// Reports that the gate refuses requests while a circuit is open.
    public func facts(for request: Request?) -> GateFacts? {
        GateFacts(
            "refuses requests to an origin that fails", .breaksCircuit, .answers(.refusal))
    }

    /// The circuits that are not closed.
    public func liveFigures(at now: MonotonicInstant) -> [LiveFigure] {
        circuits.liveFigures(at: now)
    }

    /// Runs the inner gates if the circuit admits the request.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        guard let origin = request.origin else { return try await next(request) }
        let generation = try pass(origin, context)
        do {
            let response = try await next(request)
            watch(response, to: request, origin, generation, context)
            return response
        } catch {
            let verdict = verdict(request, .failure(error), context)
            conclude(verdict, origin, generation, context)
            throw error
        }
    }

    private func pass(_ origin: Origin, _ context: Context) throws -> UInt64 {
        let now = context.timeSource.now
        let answer = circuits.admit(origin, at: now)
        for origin in answer.changed { circuits.tell(of: origin) }
        if let act = answer.act { context.report("the circuit for \(origin) \(act)", by: gateName) }
        switch answer.admission {
        case .pass(let generation): return generation
        case .isolate(let name):
            context.report(
                count: "turnpike.circuit_breaker.refusals", labels: origin.meterLabels,
                of: circuits.figures)
            throw ClientError(
                .circuitOpen,
                "the circuit for \(origin) was opened by hand (\(name)); it refuses calls until it"
                    + " is closed by hand",
                transfer: TransferState(.connecting))
        case .refuse(let until):
            context.report(
                count: "turnpike.circuit_breaker.refusals", labels: origin.meterLabels,
                of: circuits.figures)
            let wait = max(now.duration(to: until), .zero)
            throw ClientError(
                .circuitOpen,
                "the circuit for \(origin) is open because calls to it fail; it lets a probe"
                    + " through in \(wait.text)",
                transfer: TransferState(.connecting), retryAfter: wait)
        }
    }

    private func watch(
        _ response: Response, to request: Request, _ origin: Origin, _ generation: UInt64,
        _ context: Context
    ) {
        let atHead = decide(Outcome(request: request, result: .success(response)))
        // A bad status is a failure. After a good status, the body must also arrive completely.
        if atHead == .failure || response.body.isEmpty {
            return conclude(atHead, origin, generation, context)
        }
        response.body.onEnd { [self] end in
            switch end.reason {
            case .finished, .dropped: conclude(atHead, origin, generation, context)
            case .cancelled: conclude(.ignored, origin, generation, context)
            case .failed(let error):
                let verdict = verdict(request, .failure(error), context)
                conclude(verdict, origin, generation, context)
            }
        }
    }

    private func verdict(
        _ request: Request, _ result: Result<Response, any Error>, _ context: Context
    ) -> CircuitVerdict {
        let outcome = Outcome(request: request, result: result)
        let isGivenUp = outcome.isCancellation || context.cancelReason != nil
        return isGivenUp ? .ignored : decide(outcome)
    }

    private func conclude(
        _ verdict: CircuitVerdict, _ origin: Origin, _ generation: UInt64, _ context: Context
    ) {
        let change = circuits.record(
            verdict, origin, generation: generation, at: context.timeSource.now)
        if let change {
            circuits.tell(of: origin)
            context.report("the circuit for \(origin) is \(change.rawValue) now", by: gateName)
        }
    }
}

extension CircuitBreaker: PromptlyCancellable {}

extension Gate where Self == CircuitBreaker {
    /// Stops sending to a failing origin; see
    /// ``CircuitBreaker/init(failureRatio:minimum:window:open:maxOpen:probes:meter:verdict:)``.
    public static func circuitBreaker(
        failureRatio: Double = 0.5, minimum: Int = 20, window: Duration = .seconds(30),
        open: Duration = .seconds(15), maxOpen: Duration = .seconds(120), probes: Int = 3,
        meter: (any GateMeter)? = nil,
        verdict: @escaping @Sendable (Outcome) -> CircuitVerdict = CircuitVerdict.standard
    ) -> Self {
        CircuitBreaker(
            failureRatio: failureRatio, minimum: minimum, window: window, open: open,
            maxOpen: maxOpen, probes: probes, meter: meter, verdict: verdict)
    }
}

/// The state of a circuit.
public enum CircuitState: String, Hashable, Sendable, CaseIterable {
    /// The circuit admits all calls, and counts failures.
    case closed
    /// The circuit refuses all calls.
    case open
    /// The circuit admits a few probes; the outcomes of the probes decide the next state.
    case halfOpen
}

/// A verdict about the server's health, from the outcome of a call.
public enum CircuitVerdict: Hashable, Sendable {
    /// The server works.
    case success
    /// The server fails.
    case failure
    /// The outcome does not show whether the server works, as with a cancellation, a passed
    /// deadline or a faulty request.
    case ignored

    /// The default rule, by which a status from 500 on is a failure, and any other a success.
    ///
    /// Errors of the network, of the protocol and of time limits for attempts are failures. All
    /// other errors are ignored. If a validator refused a response, the rule uses the status of the
    /// response. If a proxy refuses to connect, a status from 500 on is a failure, and any other
    /// status is ignored. If a reused connection ended before a response, the outcome is ignored
    /// (``/TurnpikeCore/TransferState/lostReusedConnection``).
    public static func standard(_ outcome: Outcome) -> CircuitVerdict {
        if let status = outcome.proxyStatus { return status.code >= 500 ? .failure : .ignored }
        if let status = outcome.status { return status.code >= 500 ? .failure : .success }
        guard let code = outcome.code, !outcome.hasLostReusedConnection else { return .ignored }
        return failures.contains(code) ? .failure : .ignored
    }

    private static let failures: Set<ClientError.Code> = [
        .connection, .dns, .tls, .connectTimeout, .attemptTimeout, .idleTimeout, .protocol,
        .incomplete, .decompression,
    ]
}
