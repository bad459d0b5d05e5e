// SPDX-License-Identifier: Apache-2.0

import Turnpike

/// Sends a request to one region, and to another if the first cannot be reached.
///
/// ```swift
/// let client = Client(transport: transport, stack: [.retry(), .prefer("eu", otherwise: "us")])
/// ```
public struct PreferRegion: Interceptor {
    /// The header field that names the region.
    public static let field: HTTPHeaders.Name = "X-Region"

    private let region: String
    private let other: String

    /// Creates the gate.
    /// - Parameters:
    ///   - region: The region to try first.
    ///   - other: The region to try if the first cannot be reached.
    public init(_ region: String, otherwise other: String) {
        self.region = region
        self.other = other
    }

    /// Sends the request to the first region and, if necessary, once to the other.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        do {
            return try await next(request.to(region))
        } catch let error as ClientError where isWorthAnother(error, request) {
            context.report("tries \(other), because \(region) cannot be reached", by: gateName)
            return try await next.attempt(request.to(other))
        }
    }

    // If no byte of the request was sent, it may be sent again, whatever its method.
    private func isWorthAnother(_ error: ClientError, _ request: Request) -> Bool {
        error.transfer?.isUnsent == true && request.body.isReplayable
    }
}

// It awaits only `next`, so a time limit around it needs no separate task.
extension PreferRegion: PromptlyCancellable {}

extension Request {
    fileprivate func to(_ region: String) -> Request {
        var request = self
        request.headers[PreferRegion.field] = region
        return request
    }
}

extension Gate where Self == PreferRegion {
    /// Sends a request to one region first; see ``PreferRegion/init(_:otherwise:)``.
    public static func prefer(_ region: String, otherwise other: String) -> Self {
        PreferRegion(region, otherwise: other)
    }
}
