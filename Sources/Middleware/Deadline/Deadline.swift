// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// Ends a call that takes longer than a limit.
///
/// The limit covers everything inside the gate: queues, attempts, back-off, redirects, the refresh
/// of a token, and the body until its last byte has arrived. For a call that streams, the limit
/// ends with the head. Place the gate outermost.
///
/// A body that arrived in time can be read at any later time, even if it is stored in a file or
/// decoded during the read. While a slow reader holds the sender back, the deadline runs, because
/// the rest of the body has not arrived.
///
/// ```swift
/// let client = Client(transport: transport) {
///     Deadline(.seconds(10))  // the call, with all its attempts
///     Retry(attempts: 3)
///     AttemptTimeout(.seconds(3))  // one attempt
/// }
/// ```
///
/// The caller gets ``/TurnpikeCore/ClientError/Code/deadlineExceeded`` at once. The transport
/// closes afterwards, and nothing more is sent. ``TurnpikeCore/Call/deadline(_:)`` sets another
/// limit for one call, and ``TurnpikeCore/Call/deadline(until:)`` ends it when its own caller stops
/// waiting (`DeadlineField`). `PropagateDeadline` tells the next server what is left.
///
/// The gate can stop waiting for asynchronous work, but not for a synchronous hook. An adapter,
/// logger, condition or policy that blocks its thread keeps the caller waiting past the limit, for
/// as long as it blocks.
public struct Deadline: PhasedInterceptor {
    private let limit: Duration

    /// Creates a deadline.
    /// - Parameter limit: The longest time a call may take, its body included.
    public init(_ limit: Duration = .seconds(30)) { self.limit = limit }

    /// The options that set the deadline of one call.
    public var handledOptions: [any RequestOptionKey.Type] {
        [DeadlineOption.self, CallerDeadlineOption.self]
    }

    /// States the limit on the call.
    public func facts(for request: Request?) -> GateFacts? {
        let limit = request?.options[DeadlineOption.self] ?? limit
        let isStreaming = request?.options.isStreaming ?? false
        return GateFacts(
            "ends the call after \(limit.text)" + (isStreaming ? ", up to its head" : ""),
            .limitsTime(limit, isStreaming ? .head : .body),
            passedOver: request?.options.isOneTime == true
                ? "the request can be sent only once" : nil)
    }

    /// Begins the limit.
    public func before(_ request: Request, context: Context, next: Next) throws -> Context {
        let options = request.options
        if options.isOneTime { return context }
        var limit = options[DeadlineOption.self] ?? limit
        if let end = options[CallerDeadlineOption.self] {
            let left = context.timeSource.now.duration(to: end)
            if left <= .zero {
                throw ClientError(.deadlineExceeded, "the caller of this service no longer waits")
            }
            limit = min(limit, left)
        }
        return context.child(within: limit, upToHead: options.isStreaming) { limit in
            ClientError(
                .deadlineExceeded, "the call did not finish within its deadline of \(limit.text)")
        }
    }
}

extension Deadline: PromptlyCancellable {
    /// A pass ends soon after a cancellation, even if the rest of the chain does not.
    public var promptness: Promptness { .always }
}

extension Gate where Self == Deadline {
    /// Ends a call that takes longer than a limit; see ``Deadline/init(_:)``.
    public static func deadline(_ limit: Duration = .seconds(30)) -> Self { Deadline(limit) }
}
