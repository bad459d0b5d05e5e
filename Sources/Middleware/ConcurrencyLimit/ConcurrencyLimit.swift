public import TurnpikeCore

/// Lets no more than so many calls be under way at once, in all and to one origin.
///
/// A call is under way until its response's body has ended or was dropped: a response that is held
/// unread holds its permit. A call beyond the limits waits in line if there is a place, else it
/// fails at once as ``/TurnpikeCore/ClientError/Code/overloaded``. The line is first come first
/// served; who waits for a busy origin does not hold up calls to others. A call that is cancelled,
/// or whose deadline passes, leaves the line.
///
/// Inside a retry it limits attempts and lets the permit go during a back-off, which is the place
/// for most clients; outside a retry it limits calls. A gate that stands in several stacks is one
/// limit. Of more than 1024 origins the one unused for longest that no call is under way to is
/// forgotten.
///
/// What a gate inside sends through the same client, a token's refresh for instance, needs a permit
/// of its own while its call holds one. Calls that hold all of them wait for themselves then: until
/// a deadline ends them, or the refresh's time limit. Place the limit inside such a gate, or let
/// the gate use another client.
public struct ConcurrencyLimit: Interceptor {
    private let permits: Permits

    /// Creates a limit.
    /// - Parameters:
    ///   - total: The calls to all origins together.
    ///   - perOrigin: The calls to one origin.
    ///   - queue: How many calls may wait.
    ///   - adaptive: Lets the limit of each origin follow what its server bears, up to `perOrigin`.
    ///   - meter: Is told how many calls are under way (`turnpike.concurrency_limit.in_flight`) and
    ///     wait (`….waiting`), of refused ones (`….refusals`), and of adaptive limits (`….limit`).
    public init(
        total: Int = 256, perOrigin: Int = 64, queue: Int = 0, adaptive: AdaptiveLimit? = nil,
        meter: (any GateMeter)? = nil
    ) {
        self.init(
            permits: Permits(
                total: total, perOrigin: perOrigin, queue: queue, adaptive: adaptive, meter: meter))
    }

    init(permits: Permits) { self.permits = permits }

    /// Writes what the meter holds, where a stack file named the place.
    public func shutdown() async { await permits.figures.flush() }

    /// How many calls are under way.
    public var underWay: Int { permits.heldCount }

    /// How many calls wait.
    public var waiting: Int { permits.waitingCount }

    /// The present limit of an origin.
    public func limit(of origin: Origin) -> Int { permits.limit(of: origin) }

    /// Waits for a permit and holds it until the body's end.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        guard let origin = request.origin else { return try await next(request) }
        if let waiter = try take(origin) {
            context.note(gate: name, "waits for a permit")
            permits.tell(of: origin)
            defer { permits.tell(of: origin) }
            try await waiter.wait(in: context) { [permits] in permits.leave(origin, $0) }
        }
        let permit = Permit(permits, origin)
        do {
            let response = try await next(request)
            permits.observe(
                Outcome(request: request, result: .success(response)), origin,
                at: context.timeSource.now)
            if response.body.isEmpty {
                permit.giveBack()
            } else {
                response.body.onEnd { _ in permit.giveBack() }
            }
            return response
        } catch {
            permits.observe(
                Outcome(request: request, result: .failure(error)), origin,
                at: context.timeSource.now)
            permit.giveBack()
            throw error
        }
    }

    private func take(_ origin: Origin) throws -> Waiter? {
        do {
            return try permits.take(origin)
        } catch {
            permits.figures.count(
                "turnpike.concurrency_limit.refusals", labels: origin.meterLabels)
            throw error
        }
    }
}

extension ConcurrencyLimit: Heeding {}

extension Gate where Self == ConcurrencyLimit {
    /// Lets no more than so many calls be under way at once; see
    /// ``ConcurrencyLimit/init(total:perOrigin:queue:adaptive:meter:)``.
    public static func concurrencyLimit(
        total: Int = 256, perOrigin: Int = 64, queue: Int = 0, adaptive: AdaptiveLimit? = nil,
        meter: (any GateMeter)? = nil
    ) -> Self {
        ConcurrencyLimit(
            total: total, perOrigin: perOrigin, queue: queue, adaptive: adaptive, meter: meter)
    }
}
