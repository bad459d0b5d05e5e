// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// Stops sending to an origin that fails, and sends a few probes to find out when it has recovered.
///
/// Each origin has a circuit. A circuit opens when at least `minimum` calls have ended in a rolling
/// window and the ratio of failures is reached. Calls then fail at once as
/// ``/TurnpikeCore/ClientError/Code/circuitOpen``, and their
/// ``/TurnpikeCore/ClientError/retryAfter`` says when the circuit half-opens. A half-open circuit
/// lets at most `probes` calls through. If all of them succeed, it closes. If a probe fails, the
/// circuit opens for twice as long, up to a bound. If the probes do not end within the open time,
/// new probes may pass.
///
/// A call ends when the body of its response ends, and a body that breaks off is a failure. A call
/// that is cancelled, or whose deadline passes, says nothing about the server; if it was a probe,
/// another call takes its place.
///
/// The position decides what is counted. Inside a retry, the breaker counts attempts. It sees the
/// failures that the retry hides, and ends the retries of a call as soon as it opens. The gate
/// needs an inner ``/TurnpikeMiddleware/AttemptTimeout`` to notice a server that hangs. This is the place for most
/// clients. Outside a retry, it counts calls: it opens only when retries no longer help.
///
/// A gate used in several stacks is one shared breaker. It keeps the circuits of 1024 origins;
/// beyond that, it drops the least recently used circuit, which closes it.
public struct CircuitBreaker: Interceptor {
    private let circuits: Circuits
    private let decide: @Sendable (Outcome) -> CircuitVerdict

    /// Creates a breaker.
    /// - Parameters:
    ///   - failureRatio: The share of the calls in the window that must fail to open the circuit.
    ///   - minimum: The calls that must have ended in the window before the circuit may open.
    ///   - window: The time over which calls are counted.
    ///   - open: How long the circuit stays open at first.
    ///   - maxOpen: How long the circuit stays open at most, after doubling.
    ///   - probes: How many calls a half-open circuit lets through.
    ///   - meter: Receives each change of a circuit's state (`turnpike.circuit_breaker.state`), and
    ///     counts refused calls (`turnpike.circuit_breaker.refusals`).
    ///   - verdict: Judges the server's health by an outcome; not called for a cancellation.
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

    /// Takes over the rules and the meter of another breaker; an open circuit stays open.
    ///
    /// A client can thus keep its circuits when its stack is replaced.
    public func update(to other: CircuitBreaker) { circuits.update(to: other.circuits) }

    /// Flushes the meter.
    public func shutdown() async { await circuits.figures.flush() }

    /// The state of an origin's circuit after its last call.
    public func state(of origin: Origin) -> CircuitState { circuits.state(of: origin) }

    /// Opens an origin's circuit manually: all calls to the origin fail until ``close(_:by:)``.
    ///
    /// No probe is let through, and the circuit is not dropped. A call that is under way continues,
    /// but its outcome no longer counts.
    /// - Parameters:
    ///   - origin: The origin that gets no more calls.
    ///   - name: The person or program that isolates the origin, for the errors of refused calls.
    public func isolate(_ origin: Origin, by name: String) { circuits.isolate(origin, by: name) }

    /// Closes an origin's circuit manually, whether a person or failures have opened it.
    ///
    /// The circuit counts anew, so it opens again if the origin still fails.
    /// - Parameters:
    ///   - origin: The origin that gets calls again.
    ///   - name: The person or program that closes the circuit, for the report of the next call.
    public func close(_ origin: Origin, by name: String) { circuits.close(origin, by: name) }

    /// How long an origin's circuit still refuses calls.
    /// - Parameters:
    ///   - origin: The origin.
    ///   - timeSource: The time of the client that uses the breaker.
    /// - Returns: The time left; zero if the circuit admits calls, nil if it is isolated.
    public func remaining(
        of origin: Origin, on timeSource: any TimeSource = SystemTimeSource()
    ) -> Duration? { circuits.remaining(of: origin, at: timeSource.now) }

    /// States that the gate refuses requests while a circuit is open.
    public func facts(for request: Request?) -> GateFacts? {
        GateFacts(
            "refuses requests to an origin that fails", .breaksCircuit, .answers(.refusal))
    }

    /// The circuits that are not closed.
    public func liveFigures(at now: MonotonicInstant) -> [LiveFigure] {
        circuits.liveFigures(at: now)
    }

    /// Runs the rest of the chain if the circuit admits the request.
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
        // A bad status is a failure at once; a good response must also complete its body.
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
    /// Stops sending to an origin that fails; see
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

/// How a circuit treats calls.
public enum CircuitState: String, Hashable, Sendable, CaseIterable {
    /// Lets all calls through, and counts failures.
    case closed
    /// Refuses all calls.
    case open
    /// Lets a few probes through; their outcomes decide the next state.
    case halfOpen
}

/// A verdict about the server's health, from the outcome of a call.
public enum CircuitVerdict: Hashable, Sendable {
    /// The server works.
    case success
    /// The server fails.
    case failure
    /// The outcome says nothing about the server: a cancellation, a deadline of the caller, or a
    /// fault of the request.
    case ignored

    /// The default rule: a status from 500 on is a failure, and any other status is a success.
    ///
    /// Errors of the network, of the protocol and of time limits for attempts are failures; all
    /// other errors are ignored. A response that a validator refused is judged by its status. If a
    /// proxy does not connect, a status from 500 on is a failure, and any other status is ignored.
    /// If a reused connection ended before an answer, the outcome is ignored
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
