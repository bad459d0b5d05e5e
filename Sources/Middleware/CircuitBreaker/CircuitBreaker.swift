public import TurnpikeCore

/// Stops sending to an origin that fails, and finds out with a few probes when it is well again.
///
/// Each origin has a circuit. It opens when of at least `minimum` calls in a rolling window the
/// ratio of failures is reached; calls then fail at once as
/// ``/TurnpikeCore/ClientError/Code/circuitOpen``, whose
/// ``/TurnpikeCore/ClientError/retryAfter`` says when it half-opens. Half-open, it lets at most
/// `probes` calls through: if all of them succeed it closes, if one fails it opens for twice as
/// long, up to a bound. Probes that have not ended after that time make room for new ones.
///
/// A call has ended when its response's body has: one that breaks off is a failure. A call that is
/// cancelled, or whose deadline passes, says nothing of the server, and a probe that ends so gives
/// its place to another.
///
/// Position decides what is counted. Inside a retry the breaker counts attempts: it hears of
/// failures that the retry hides, ends the retries of a call as soon as it opens, and needs
/// ``AttemptTimeout`` inside it to hear of a server that hangs. This is the place for most clients.
/// Outside a retry it counts calls: it opens only when retries do not help any more.
///
/// A gate that stands in several stacks is one breaker. Of more than 1024 origins the one unused
/// for longest is forgotten, and its circuit closed.
public struct CircuitBreaker: Interceptor {
    private let circuits: Circuits
    private let judge: @Sendable (Outcome) -> CircuitVerdict

    /// Creates a breaker.
    /// - Parameters:
    ///   - failureRatio: The part of the calls in the window that must fail for it to open.
    ///   - minimum: The calls that must have ended in the window before it may open.
    ///   - window: The time over which calls are counted.
    ///   - open: How long it stays open at first.
    ///   - maxOpen: How long it stays open at most, after doubling.
    ///   - probes: How many calls a half-open circuit lets through.
    ///   - meter: Is told of each circuit that opens, half-opens or closes again
    ///     (`turnpike.circuit_breaker.state`), and of refused calls
    ///     (`turnpike.circuit_breaker.refusals`).
    ///   - judge: What an outcome says of the server. It is not asked about a cancellation.
    public init(
        failureRatio: Double = 0.5, minimum: Int = 20, window: Duration = .seconds(30),
        open: Duration = .seconds(15), maxOpen: Duration = .seconds(120), probes: Int = 3,
        meter: (any GateMeter)? = nil,
        judge: @escaping @Sendable (Outcome) -> CircuitVerdict = CircuitVerdict.standard
    ) {
        let rules = Circuit.Rules(
            failureRatio: failureRatio, minimum: minimum, open: open, maxOpen: maxOpen,
            probes: probes)
        self.init(circuits: Circuits(rules, window: window, meter: meter), judge: judge)
    }

    init(circuits: Circuits, judge: @escaping @Sendable (Outcome) -> CircuitVerdict) {
        self.circuits = circuits
        self.judge = judge
    }

    /// Writes what the meter holds, where a stack file named the place.
    public func shutdown() async { await circuits.figures.flush() }

    /// The state of an origin's circuit, as its last call left it.
    public func state(of origin: Origin) -> CircuitState { circuits.state(of: origin) }

    /// Lets a request through if the circuit does.
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
        switch answer.admission {
        case .pass(let generation): return generation
        case .refuse(let until):
            circuits.figures.count(
                "turnpike.circuit_breaker.refusals", labels: origin.meterLabels)
            let wait = max(now.duration(to: until), .zero)
            throw ClientError(
                .circuitOpen,
                "the circuit for \(origin) is open because calls to it fail; it lets a probe through"
                    + " in \(wait.text)",
                transfer: TransferState(.connecting), retryAfter: wait)
        }
    }

    private func watch(
        _ response: Response, to request: Request, _ origin: Origin, _ generation: UInt64,
        _ context: Context
    ) {
        let atHead = judge(Outcome(request: request, result: .success(response)))
        // A bad status is known now; a good one must bring its body home.
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
        return isGivenUp ? .ignored : judge(outcome)
    }

    private func conclude(
        _ verdict: CircuitVerdict, _ origin: Origin, _ generation: UInt64, _ context: Context
    ) {
        let change = circuits.record(
            verdict, origin, generation: generation, at: context.timeSource.now)
        if let change {
            circuits.tell(of: origin)
            context.note(gate: name, "the circuit for \(origin) is \(change.rawValue) now")
        }
    }
}

extension CircuitBreaker: Heeding {}

extension Gate where Self == CircuitBreaker {
    /// Stops sending to an origin that fails; see
    /// ``CircuitBreaker/init(failureRatio:minimum:window:open:maxOpen:probes:meter:judge:)``.
    public static func circuitBreaker(
        failureRatio: Double = 0.5, minimum: Int = 20, window: Duration = .seconds(30),
        open: Duration = .seconds(15), maxOpen: Duration = .seconds(120), probes: Int = 3,
        meter: (any GateMeter)? = nil,
        judge: @escaping @Sendable (Outcome) -> CircuitVerdict = CircuitVerdict.standard
    ) -> Self {
        CircuitBreaker(
            failureRatio: failureRatio, minimum: minimum, window: window, open: open,
            maxOpen: maxOpen, probes: probes, meter: meter, judge: judge)
    }
}
