public import TurnpikeCore

/// Resolves relative targets in the stack: for a client without a base URL, or with one that
/// changes.
///
/// ```swift
/// let client = Client(stack: [.baseURL { region.endpoint }, .validate(), .retry()])
/// let user = try await client.get("users/1").decode(User.self)
/// ```
///
/// Place it outermost: gates outside of it see no URL. A request that has its URL passes unchanged,
/// so a client's own base URL wins.
public struct BaseURL: RequestAdapter {
    private let base: @Sendable () async throws -> Target

    /// Creates a gate with one base URL.
    /// - Parameter base: An absolute URL without user information.
    public init(_ base: Target) { self.base = { base } }

    /// Creates a gate that asks for the base URL, once for each request that needs it.
    /// - Parameter base: Returns an absolute URL; what it throws fails the call.
    public init(_ base: @escaping @Sendable () async throws -> Target) { self.base = base }

    /// Resolves the target, if it still is relative.
    public func adapt(_ request: inout Request, context: Context) async throws {
        guard request.origin == nil else { return }
        request.resolve(against: try await base())
    }
}

extension Gate where Self == BaseURL {
    /// Resolves relative targets against one base URL.
    public static func baseURL(_ base: Target) -> Self { BaseURL(base) }

    /// Resolves relative targets against a base URL that is asked for.
    public static func baseURL(_ base: @escaping @Sendable () async throws -> Target) -> Self {
        BaseURL(base)
    }
}
