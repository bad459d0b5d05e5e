// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// When an endpoint is left out because it fails, and for how long.
///
/// An endpoint is ejected, as by Envoy's outlier detection and gRPC's (A50), if it
///
/// - fails ``consecutiveFailures`` times in a row: connections, 5xx, bodies that break off; or
/// - succeeds far less often than the others over ``interval``: its success ratio is below theirs by
///   more than a tenth and by more than ``deviations`` standard deviations.
///
/// An ejection lasts ``ejection`` at first, and twice as long each time that it follows soon, up to
/// ``maxEjection``. The endpoint then returns with a slow start: its share of the requests grows
/// over ``slowStart``, as that of a new endpoint. If its first request fails, it is ejected again.
///
/// At most ``maxEjected`` of the endpoints are ejected, but always at least one of two or more, and
/// never all. If fewer than ``panic`` are healthy, for example because of checks (``check``), all
/// are used again: it is better to try all endpoints than to overload the few that are left.
///
/// Each client judges by its own calls, and tells no other.
public struct EndpointHealth: Sendable {
    /// The failures in a row after which an endpoint is ejected; 0 for no such rule.
    public var consecutiveFailures: Int
    /// The time over which success ratios are compared; at least 100 ms.
    public var interval: Duration
    /// The requests that an endpoint must have had in that time to be compared.
    public var minimumRequests: Int
    /// The standard deviations below the others' success ratio at which an endpoint is ejected;
    /// infinite for no such rule.
    public var deviations: Double
    /// How long the first ejection lasts.
    public var ejection: Duration
    /// How long an ejection lasts at most, after doubling.
    public var maxEjection: Duration
    /// The share of the endpoints that may be ejected, from 0, for none, to 1.
    public var maxEjected: Double
    /// The share of endpoints that must be well, below which all are used.
    public var panic: Double
    /// How long it takes until a new or returned endpoint has its full share; zero for none.
    public var slowStart: Duration
    /// Checks that are sent besides the requests; nil for none.
    public var check: EndpointHealthCheck?

    /// Creates rules.
    public init(
        consecutiveFailures: Int = 5, interval: Duration = .seconds(10), minimumRequests: Int = 20,
        deviations: Double = 3, ejection: Duration = .seconds(5),
        maxEjection: Duration = .seconds(300), maxEjected: Double = 0.5, panic: Double = 0.5,
        slowStart: Duration = .seconds(30), check: EndpointHealthCheck? = nil
    ) {
        self.consecutiveFailures = consecutiveFailures
        self.interval = max(interval, .milliseconds(100))
        self.minimumRequests = minimumRequests
        self.deviations = deviations
        self.ejection = ejection
        self.maxEjection = maxEjection
        self.maxEjected = maxEjected
        self.panic = panic
        self.slowStart = slowStart
        self.check = check
    }

    /// Ejects nothing and checks nothing.
    public static var off: EndpointHealth { EndpointHealth(maxEjected: 0) }

    /// How many of a number of endpoints may be ejected at once.
    func mostEjected(of count: Int) -> Int {
        // NaN ejects none.
        guard maxEjected > 0, count > 1 else { return 0 }
        return min(max(Int(min(maxEjected, 1) * Double(count)), 1), count - 1)
    }

    /// The length of an ejection after a number of earlier ones.
    func ejectionTime(after others: Int) -> Duration {
        var time = max(ejection, .milliseconds(1))
        for _ in 0..<max(others, 0) where time < maxEjection { time = time * 2 }
        return min(time, max(maxEjection, ejection))
    }

    /// Whether so few of a number of endpoints are well that all are used.
    func isPanic(well: Int, of count: Int) -> Bool {
        well == 0 || Double(well) < panic * Double(count)
    }
}

/// Requests that ask an endpoint whether it is well, besides the requests of calls.
///
/// A check is a GET for a path at the logical origin, whose connection goes to the endpoint. It goes
/// straight to the client's transport and passes no gate: it has no credentials, and is not logged,
/// retried or limited. One check at a time is under way to an endpoint, and at most 64 in all.
///
/// Checks begin with the first call. They end when the endpoint leaves the list, when the client is
/// shut down, and when nothing holds the client any more.
public struct EndpointHealthCheck: Sendable {
    /// The path, and a query if there is one: `/health`.
    public var path: String
    /// The time from one check of an endpoint to the next, 10 ms at least; each time it differs by up to
    /// a tenth.
    public var interval: Duration
    /// How long a check may take.
    public var timeout: Duration
    /// How many checks in a row must fail until the endpoint is left out.
    public var unhealthyThreshold: Int
    /// How many checks in a row must succeed until it is used again.
    public var healthyThreshold: Int
    /// Whether a status says that the endpoint is well; by default one of 200 to 299.
    public var isWell: @Sendable (HTTPStatus) -> Bool

    /// Creates checks.
    public init(
        path: String, interval: Duration = .seconds(10), timeout: Duration = .seconds(2),
        unhealthyThreshold: Int = 3, healthyThreshold: Int = 2,
        isWell: @escaping @Sendable (HTTPStatus) -> Bool = { $0.kind == .successful }
    ) {
        self.path = path
        self.interval = max(interval, .milliseconds(10))
        self.timeout = timeout
        self.unhealthyThreshold = unhealthyThreshold
        self.healthyThreshold = healthyThreshold
        self.isWell = isWell
    }

    /// Sends a check.
    /// - Returns: Whether the endpoint is well; nil if the check was given up.
    func run(
        to endpoint: Endpoint, for origin: Origin, over transport: any Transport,
        in context: Context
    ) async -> Bool? {
        let place = path.hasPrefix("/") ? path : "/" + path
        var request = Request(
            .get, Target("\(origin)\(place)"), headers: ["User-Agent": "turnpike-health-check"])
        request.options.connectTarget = endpoint.target
        // A path that makes no URL is no fault of the endpoint; each call would fail by it.
        guard request.fault == nil, context.cancelReason == nil else { return nil }
        let inner = context.child()
        let timer = context.timeSource.schedule(after: timeout) {
            inner.cancel(.expired(ClientError(.attemptTimeout, "the check took too long")))
        }
        defer { timer.cancel() }
        do {
            // A transport that ignores its cancellation is not waited for.
            let response = try await inner.running { [request] in
                try await transport.send(request, context: inner)
            } orAbandoning: {
                $0.body.cancel(.drop)
            }
            let isWell = isWell(response.status)
            await response.discard(in: inner)
            return context.cancelReason == nil ? isWell : nil
        } catch {
            // The transport of a client that was shut down says nothing of the endpoint.
            let isEnd = context.cancelReason != nil || ClientError.isCancellation(error)
            return isEnd ? nil : false
        }
    }
}
