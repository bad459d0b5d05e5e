// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Resolves relative targets against a base URL.
///
/// Use this gate for a client without a base URL, or for a base URL that changes.
///
/// ```swift
/// let client = Client(stack: [.baseURL { region.endpoint }, .validate(), .retry()])
/// let user = try await client.get("users/1").decode(User.self)
/// ```
///
/// Place this gate outermost, because gates outside of this gate see a target without scheme and
/// host. The gate does not change an absolute URL. A base URL of the client therefore takes
/// precedence over the base URL of the gate.
public struct BaseURL: RequestAdapter {
    private let base: @Sendable () async throws -> Target

    /// Creates a gate with one base URL.
    /// - Parameter base: An absolute URL without user information.
    public init(_ base: some TargetConvertible) {
        let base = base.asTarget()
        self.base = { base }
    }

    /// Creates a gate that calls a closure for the base URL, once for each relative request.
    /// - Parameter base: Returns an absolute URL. If the closure throws an error, the call fails
    ///   with that error.
    public init(_ base: @escaping @Sendable () async throws -> Target) { self.base = base }

    /// States that the gate resolves relative targets.
    public func facts(for request: Request?) -> GateFacts? {
        GateFacts(
            "resolves relative targets",
            passedOver: request?.origin == nil ? nil : "the target is absolute")
    }

    /// Resolves a relative target.
    public func adapt(_ request: inout Request, context: Context) async throws {
        guard request.origin == nil else { return }
        request.resolve(against: try await base())
    }
}

extension Gate where Self == BaseURL {
    /// Resolves relative targets against one base URL.
    public static func baseURL(_ base: some TargetConvertible) -> Self { BaseURL(base) }

    /// Resolves relative targets against the base URL that a closure returns.
    public static func baseURL(_ base: @escaping @Sendable () async throws -> Target) -> Self {
        BaseURL(base)
    }
}
