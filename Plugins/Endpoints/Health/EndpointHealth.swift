// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// The rules for the ejection of failing endpoints.
///
/// An endpoint is ejected, as by the outlier detection of Envoy and gRPC (A50), if the endpoint
///
/// - fails ``consecutiveFailures`` times in a row with connection errors, 5xx or incomplete bodies,
///   or
/// - has a success ratio over ``interval`` that is lower than the ratio of the others by more than
///   a tenth and by more than ``deviations`` standard deviations.
///
/// The first ejection lasts ``ejection``. If the next ejection follows soon, the time of the
/// ejection doubles, up to ``maxEjection``. After an ejection, the endpoint returns with a slow
/// start, like a new endpoint. The endpoint's share of the requests grows over ``slowStart``. If
/// the first request after the return fails, the endpoint is ejected again.
///
/// At most ``maxEjected`` of the endpoints are ejected. Of two or more endpoints, at least one
/// endpoint may be ejected, but never all endpoints. If the share of healthy endpoints is below
/// ``panic``, for example because of checks (``check``), all endpoints are used, because the few
/// healthy endpoints would be overloaded.
///
/// Each client uses only the outcomes of its own calls.
public struct EndpointHealth: Sendable {
    /// The number of failures in a row after which an endpoint is ejected, or 0 for no such rule.
    public var consecutiveFailures: Int
    /// The time over which success ratios are compared, at least 100 ms.
    public var interval: Duration
    /// The minimum number of requests in ``interval`` for the comparison of an endpoint.
    public var minimumRequests: Int
    /// The difference from the others' ratio that causes an ejection, in standard deviations.
    ///
    /// An infinite number turns the comparison off.
    public var deviations: Double
    /// The length of the first ejection.
    public var ejection: Duration
    /// The maximum length of an ejection.
    public var maxEjection: Duration
    /// The share of the endpoints that may be ejected, from 0 (none) to 1.
    public var maxEjected: Double
    /// The share of healthy endpoints below which all endpoints are used.
    public var panic: Double
    /// The time until a new or returned endpoint gets the full share, or zero for no slow start.
    public var slowStart: Duration
    /// Additional health checks, or nil for no checks.
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

    /// Turns ejections and checks off.
    public static var off: EndpointHealth { EndpointHealth(maxEjected: 0) }

    func mostEjected(of count: Int) -> Int {
        guard maxEjected > 0, count > 1 else { return 0 }
        return min(max(Int(min(maxEjected, 1) * Double(count)), 1), count - 1)
    }

    func ejectionTime(after others: Int) -> Duration {
        var time = max(ejection, .milliseconds(1))
        for _ in 0..<max(others, 0) where time < maxEjection { time = time * 2 }
        return min(time, max(maxEjection, ejection))
    }

    func isPanic(well: Int, of count: Int) -> Bool {
        well == 0 || Double(well) < panic * Double(count)
    }
}

/// Requests that check the health of endpoints.
///
/// A check is a GET for a path at the logical origin, with a connection to the endpoint. A check
/// uses the client's transport directly and passes no gate. So a check has no credentials, log
/// lines, retries or limits. A gate runs at most one check for an endpoint, and 64 checks in all.
///
/// Checks begin with the first call. The checks of an endpoint end when the endpoint leaves the
/// list, or when the client is shut down or released.
public struct EndpointHealthCheck: Sendable {
    /// The path with an optional query, such as `/health`.
    public var path: String
    /// The time between two checks of an endpoint, at least 10 ms, varied by up to a tenth.
    public var interval: Duration
    /// The time limit of a check.
    public var timeout: Duration
    /// The number of failed checks in a row after which the endpoint is not used.
    public var unhealthyThreshold: Int
    /// The number of successful checks in a row after which the endpoint is used again.
    public var healthyThreshold: Int
    /// Whether a status means that the endpoint is healthy, by default from 200 to 299.
    public var isWell: @Sendable (HTTPStatus) -> Bool

    /// Creates checks.
    public init(
        path: String, interval: Duration = .seconds(10), timeout: Duration = .seconds(2),
        unhealthyThreshold: Int = 3, healthyThreshold: Int = 2,
        isWell: @escaping @Sendable (HTTPStatus) -> Bool = { $0.isSuccessful }
    ) {
        self.path = path
        self.interval = max(interval, .milliseconds(10))
        self.timeout = timeout
        self.unhealthyThreshold = unhealthyThreshold
        self.healthyThreshold = healthyThreshold
        self.isWell = isWell
    }

    // Sends a check. Returns whether the endpoint is healthy, or nil after an abandoned check.
    func run(
        to endpoint: Endpoint, for origin: Origin, over transport: any Transport,
        in context: Context
    ) async -> Bool? {
        let place = path.hasPrefix("/") ? path : "/" + path
        var request = Request(
            .get, Target("\(origin)\(place)"), headers: ["User-Agent": "turnpike-health-check"])
        request.options.connectTarget = endpoint.target
        // An invalid path is not a failure of the endpoint.
        guard request.fault == nil, context.cancelReason == nil else { return nil }
        let inner = context.child()
        let timer = context.timeSource.schedule(after: timeout) {
            inner.cancel(.expired(ClientError(.attemptTimeout, "the check took too long")))
        }
        defer { timer.cancel() }
        do {
            // If the transport ignores the cancellation, the check does not wait for the transport.
            let response = try await inner.running { [request] in
                try await transport.send(request, context: inner)
            } orAbandoning: {
                $0.body.cancel(.drop)
            }
            let isWell = isWell(response.status)
            await response.discard(in: inner)
            return context.cancelReason == nil ? isWell : nil
        } catch {
            // An error after the shutdown of the client is not a failure of the endpoint.
            let isEnd = context.cancelReason != nil || ClientError.isCancellation(error)
            return isEnd ? nil : false
        }
    }
}
