import Foundation
public import TurnpikeCore

/// Waits for the machine to be connected before a request is tried again.
///
/// ```swift
/// let monitor = PathMonitor.system()
/// let client = Client(stack: [.deadline(.seconds(120)), .retry(), .waitForConnectivity(monitor), .attemptTimeout()])
/// ```
///
/// Place it inside the retry, whose attempts it holds back, and outside an attempt timeout, which
/// would count the wait. A request to this machine itself does not wait. When the limit has passed
/// the attempt is made all the same, and fails as it must.
public struct WaitForConnectivity: Interceptor {
    private let monitor: PathMonitor
    private let limit: Duration
    private let includesFirstAttempt: Bool

    /// Creates the gate.
    /// - Parameters:
    ///   - monitor: What tells whether the machine is connected.
    ///   - limit: The longest wait before one attempt.
    ///   - includesFirstAttempt: Whether the first attempt waits too.
    public init(
        _ monitor: PathMonitor, limit: Duration = .seconds(60), includesFirstAttempt: Bool = false
    ) {
        self.monitor = monitor
        self.limit = limit
        self.includesFirstAttempt = includesFirstAttempt
    }

    /// Waits if it must, and runs the rest of the chain.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        if context.attempt > 1 || includesFirstAttempt, !Self.isLocal(request) {
            _ = try await monitor.waitUntilReachable(for: limit, in: context)
        }
        return try await next(request)
    }

    private static func isLocal(_ request: Request) -> Bool {
        guard let host = request.origin?.host else { return false }
        return host == "localhost" || host.hasSuffix(".localhost") || host.hasPrefix("127.")
            || host == "::1"
    }
}

extension Gate where Self == WaitForConnectivity {
    /// Waits for the machine to be connected before a request is tried again; see
    /// ``WaitForConnectivity/init(_:limit:includesFirstAttempt:)``.
    public static func waitForConnectivity(
        _ monitor: PathMonitor, limit: Duration = .seconds(60)
    ) -> Self { WaitForConnectivity(monitor, limit: limit) }
}
