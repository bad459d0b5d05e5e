// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Resolves relative targets against a base URL.
///
/// Use it for a client that has no base URL, or whose base URL changes.
///
/// ```swift
/// let client = Client(stack: [.baseURL { region.endpoint }, .validate(), .retry()])
/// let user = try await client.get("users/1").decode(User.self)
/// ```
///
/// Place it outermost: gates outside of it see a target without scheme and host. A request with an
/// absolute URL passes unchanged, so a client's own base URL takes precedence.
public struct BaseURL: RequestAdapter {
    private let base: @Sendable () async throws -> Target

    /// Creates a gate with one base URL.
    /// - Parameter base: An absolute URL without user information.
    public init(_ base: Target) { self.base = { base } }

    /// Creates a gate from the text of one base URL.
    public init(_ base: String) { self.init(Target(base)) }

    /// Creates a gate that calls a closure for the base URL, once for each relative request.
    /// - Parameter base: Returns an absolute URL; an error that it throws fails the call.
    public init(_ base: @escaping @Sendable () async throws -> Target) { self.base = base }

    /// States that the gate resolves relative targets.
    public func facts(for request: Request?) -> GateFacts? {
        GateFacts(
            "resolves relative targets",
            passedOver: request?.origin == nil ? nil : "the target is absolute")
    }

    /// Resolves the target if it is relative.
    public func adapt(_ request: inout Request, context: Context) async throws {
        guard request.origin == nil else { return }
        request.resolve(against: try await base())
    }
}

extension Gate where Self == BaseURL {
    /// Resolves relative targets against one base URL.
    public static func baseURL(_ base: Target) -> Self { BaseURL(base) }

    /// Resolves relative targets against the text of one base URL.
    public static func baseURL(_ base: String) -> Self { BaseURL(base) }

    /// Resolves relative targets against the base URL that a closure returns.
    public static func baseURL(_ base: @escaping @Sendable () async throws -> Target) -> Self {
        BaseURL(base)
    }
}
