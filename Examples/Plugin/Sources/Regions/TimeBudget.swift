// SPDX-License-Identifier: Apache-2.0

import Turnpike

/// Ends a call that takes longer than a limit, as Turnpike's own `Deadline` does.
///
/// Whoever wants other words, or a limit that comes from elsewhere, can write one: it uses nothing that
/// a gate of yours could not.
///
/// ```swift
/// let client = Client(transport: transport, stack: [.budget(.seconds(10)), .retry()])
/// ```
public struct TimeBudget: Interceptor {
    private let limit: Duration

    /// Creates the gate.
    /// - Parameter limit: The longest time a call may take, its body included.
    public init(_ limit: Duration) { self.limit = limit }

    /// A call's own `.deadline(_:)` replaces the limit.
    public var handledOptions: [any RequestOptionKey.Type] { [DeadlineOption.self] }

    /// What is true of this gate.
    public func facts(for request: Request?) -> GateFacts? {
        let limit = request?.options[DeadlineOption.self] ?? limit
        return GateFacts(
            "ends the call after \(limit)",
            .limitsTime(limit, request?.options.isStreaming == true ? .head : .body),
            passedOver: request?.options.isOneTime == true
                ? "the request can be sent only once" : nil)
    }

    /// Runs the rest of the chain within the limit.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        let options = request.options
        if options.isOneTime { return try await next(request) }
        let limit = options[DeadlineOption.self] ?? limit
        return try await next(request, within: limit, upToHead: options.isStreaming) { limit in
            ClientError(.deadlineExceeded, "the call's budget of \(limit) is spent")
        }
    }
}

// Whatever stands inside, it returns soon after its call was cancelled.
extension TimeBudget: PromptlyCancellable {
    /// Always.
    public var promptness: Promptness { .always }
}

extension Gate where Self == TimeBudget {
    /// Ends a call that takes longer than a limit; see ``TimeBudget/init(_:)``.
    public static func budget(_ limit: Duration) -> Self { TimeBudget(limit) }
}
