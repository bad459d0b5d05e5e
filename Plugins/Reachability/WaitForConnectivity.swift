// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// Waits for a network connection before a retry gate sends a request again.
///
/// ```swift
/// let monitor = PathMonitor.system()
/// let client = Client(stack: [.deadline(.seconds(120)), .retry(), .waitForConnectivity(monitor), .attemptTimeout()])
/// ```
///
/// Place this gate inside the retry gate, and outside an attempt timeout, which would include the
/// wait. A request to this machine does not wait. When the limit ends, the gate sends the request
/// even without a connection.
public struct WaitForConnectivity: Interceptor {
    private let monitor: PathMonitor
    private let limit: Duration
    private let includesFirstAttempt: Bool

    /// Creates a gate that waits for a connection.
    /// - Parameters:
    ///   - monitor: Reports whether the machine is connected.
    ///   - limit: The longest wait before an attempt.
    ///   - includesFirstAttempt: Whether the first attempt waits too.
    public init(
        _ monitor: PathMonitor, limit: Duration = .seconds(60), includesFirstAttempt: Bool = false
    ) {
        self.monitor = monitor
        self.limit = limit
        self.includesFirstAttempt = includesFirstAttempt
    }

    /// Waits for a connection if necessary, and afterwards sends the request.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        if context.attempt > 1 || includesFirstAttempt, !Self.isLocal(request) {
            _ = try await context.report(waitingFor: "connectivity") {
                try await monitor.waitUntilReachable(for: limit, in: $0)
            }
        }
        return try await next(request)
    }

    /// States how long an attempt may wait for a connection.
    public func facts(for request: Request?) -> GateFacts? {
        let attempts = includesFirstAttempt ? "each attempt" : "each attempt after the first"
        return GateFacts(
            "lets \(attempts) wait for a connection, \(limit.text) at most",
            .waits(atMost: limit, reason: "a network connection"),
            order: [
                GateOrder(
                    includesFirstAttempt ? .inside : .insideOfPresent, .retry,
                    because: "A retry makes the attempts that wait for a connection."),
                GateOrder(
                    .outside, .attemptTimeout,
                    because: "The wait for a connection would count as time of the attempt."),
            ],
            passedOver: request.flatMap { Self.isLocal($0) ? "the host is this machine" : nil })
    }

    private static func isLocal(_ request: Request) -> Bool {
        guard let host = request.origin?.host else { return false }
        return host == "localhost" || host.hasSuffix(".localhost") || host == "::1"
            || IPAddress(host)?.description.hasPrefix("127.") == true
    }
}

extension Gate where Self == WaitForConnectivity {
    /// Waits for a network connection before a retry; see
    /// ``WaitForConnectivity/init(_:limit:includesFirstAttempt:)``.
    public static func waitForConnectivity(
        _ monitor: PathMonitor, limit: Duration = .seconds(60)
    ) -> Self { WaitForConnectivity(monitor, limit: limit) }
}
