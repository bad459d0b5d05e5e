// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// When an endpoint is left out because of failures, and for how long.
///
/// An endpoint is ejected, as by the outlier detection of Envoy and gRPC (A50), if the endpoint
///
/// - fails ``consecutiveFailures`` times in a row: connections, 5xx, incomplete bodies; or
/// - succeeds far less often than the others over ``interval``: its success ratio is lower by more
///   than a tenth and by more than ``deviations`` standard deviations.
///
/// The first ejection lasts ``ejection``. If the next ejection follows soon, it lasts twice as
/// long, up to ``maxEjection``. Then the endpoint returns with a slow start: its share of the
/// requests grows over ``slowStart``, like that of a new endpoint. If the first request after the
/// return fails, the endpoint is ejected again.
///
/// At most ``maxEjected`` of the endpoints are ejected. Of two or more endpoints, at least one may
/// be ejected, but never all. If the share of healthy endpoints is below ``panic``, for example
/// because of checks (``check``), all endpoints are used, because the few healthy endpoints would
/// be overloaded.
///
/// Each client decides from its own calls. Clients do not inform each other.
public struct EndpointHealth: Sendable {
    /// The failures in a row after which an endpoint is ejected; 0 turns this off.
    public var consecutiveFailures: Int
    /// The time over which success ratios are compared; at least 100 ms.
    public var interval: Duration
    /// The number of requests in ``interval`` that an endpoint needs to be compared.
    public var minimumRequests: Int
    /// The difference from the others' success ratio at which an endpoint is ejected, in standard
    /// deviations; infinite turns this off.
    public var deviations: Double
    /// The length of the first ejection.
    public var ejection: Duration
    /// The maximum length of an ejection.
    public var maxEjection: Duration
    /// The share of the endpoints that may be ejected, from 0 (none) to 1.
    public var maxEjected: Double
    /// The share of healthy endpoints below which all endpoints are used.
    public var panic: Double
    /// The time until a new or returned endpoint has its full share; zero for no slow start.
    public var slowStart: Duration
    /// Checks besides the requests; nil for no checks.
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
        // NaN ejects none.
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

/// Requests that ask an endpoint whether it is healthy.
///
/// A check is a GET for a path at the logical origin, with a connection to the endpoint. A check
/// uses the client's transport directly and passes no gate. So a check has no credentials, log
/// lines, retries or limits. A gate runs at most one check for an endpoint, and 64 checks in all.
///
/// Checks begin with the first call. They end when the endpoint leaves the list, or when the client
/// is shut down or released.
public struct EndpointHealthCheck: Sendable {
    /// The path, and a query if there is one: `/health`.
    public var path: String
    /// The time between two checks of an endpoint, at least 10 ms; it varies by up to a tenth.
    public var interval: Duration
    /// The longest time for a check.
    public var timeout: Duration
    /// How many checks in a row must fail before the endpoint is left out.
    public var unhealthyThreshold: Int
    /// How many checks in a row must succeed before the endpoint is used again.
    public var healthyThreshold: Int
    /// Whether a status says that the endpoint is healthy; by default 200 to 299.
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

    /// Sends a check; returns whether the endpoint is healthy, or nil if the check was abandoned.
    func run(
        to endpoint: Endpoint, for origin: Origin, over transport: any Transport,
        in context: Context
    ) async -> Bool? {
        let place = path.hasPrefix("/") ? path : "/" + path
        var request = Request(
            .get, Target("\(origin)\(place)"), headers: ["User-Agent": "turnpike-health-check"])
        request.options.connectTarget = endpoint.target
        // If the path makes the URL invalid, the endpoint is not to blame.
        guard request.fault == nil, context.cancelReason == nil else { return nil }
        let inner = context.child()
        let timer = context.timeSource.schedule(after: timeout) {
            inner.cancel(.expired(ClientError(.attemptTimeout, "the check took too long")))
        }
        defer { timer.cancel() }
        do {
            // If the transport ignores its cancellation, the check does not wait for the transport.
            let response = try await inner.running { [request] in
                try await transport.send(request, context: inner)
            } orAbandoning: {
                $0.body.cancel(.drop)
            }
            let isWell = isWell(response.status)
            await response.discard(in: inner)
            return context.cancelReason == nil ? isWell : nil
        } catch {
            // An error after the shutdown of the client says nothing about the endpoint.
            let isEnd = context.cancelReason != nil || ClientError.isCancellation(error)
            return isEnd ? nil : false
        }
    }
}
