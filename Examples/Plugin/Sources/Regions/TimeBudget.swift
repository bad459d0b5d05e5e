// SPDX-License-Identifier: Apache-2.0

import Turnpike

/// Ends a call that takes longer than a limit, as Turnpike's own `Deadline` does.
///
/// Use it as a template for your own text or another source of the limit. This gate needs nothing
/// that your own gates could not use.
///
/// ```swift
/// let client = Client(transport: transport, stack: [.budget(.seconds(10)), .retry()])
/// ```
public struct TimeBudget: Interceptor {
    private let limit: Duration

    /// Creates the gate.
    /// - Parameter limit: The longest time that a call may take, including its body.
    public init(_ limit: Duration) { self.limit = limit }

    /// A call's own `.deadline(_:)` replaces the limit.
    public var handledOptions: [any RequestOptionKey.Type] { [DeadlineOption.self] }

    /// States the effects of the gate.
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

// It returns soon after the cancellation of its call, whatever gates are inside.
extension TimeBudget: PromptlyCancellable {
    /// Always prompt.
    public var promptness: Promptness { .always }
}

extension Gate where Self == TimeBudget {
    /// Ends a call that takes longer than a limit; see ``TimeBudget/init(_:)``.
    public static func budget(_ limit: Duration) -> Self { TimeBudget(limit) }
}
