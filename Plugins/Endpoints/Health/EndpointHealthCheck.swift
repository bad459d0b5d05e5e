// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Requests that ask an endpoint whether it is well, besides the requests of calls.
///
/// A check is a GET for a path at the logical origin, whose connection goes to the endpoint. It goes
/// straight to the client's transport and passes no gate: it has no credentials, and is not logged,
/// retried or limited. One check at a time is under way to an endpoint, and at most 64 in all.
///
/// Checks begin with the first call. They end when the endpoint leaves the list, when the client is
/// shut down, and when nothing holds the client any more.
public struct EndpointHealthCheck: Sendable {
    /// The path, and a query if there is one.
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
    /// Whether a status says that the endpoint is well.
    public var isWell: @Sendable (HTTPStatus) -> Bool

    /// Creates checks.
    /// - Parameters:
    ///   - path: The path, and a query if there is one: `/health`.
    ///   - interval: The time from one check of an endpoint to the next; at least 10 ms.
    ///   - timeout: How long a check may take.
    ///   - unhealthyThreshold: How many in a row must fail until the endpoint is left out.
    ///   - healthyThreshold: How many in a row must succeed until it is used again.
    ///   - isWell: Whether a status says that the endpoint is well; by default one of 200 to 299.
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
