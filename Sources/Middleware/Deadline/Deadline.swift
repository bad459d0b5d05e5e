// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// Ends a call that takes longer than a limit.
///
/// The limit covers all work inside the gate: queues, attempts, waits between attempts, redirects,
/// the refresh of a token, and the body until its last byte has arrived. If a call is streaming,
/// the limit applies only until the response head arrives. Place the gate outermost.
///
/// If the whole body arrives in time, the caller can read the body at any later time, even from a
/// file or with decoding. If the caller reads slowly and the transport stops receiving, the time
/// still counts.
///
/// ```swift
/// let client = Client(transport: transport) {
///     Deadline(.seconds(10))  // the call, with all its attempts
///     Retry(attempts: 3)
///     AttemptTimeout(.seconds(3))  // one attempt
/// }
/// ```
///
/// When the limit ends, the caller gets ``/TurnpikeCore/ClientError/Code/deadlineExceeded``
/// immediately. After the limit, the transport closes the exchange, and sends nothing more.
/// ``TurnpikeCore/Call/deadline(_:)`` sets another limit for one call.
/// ``TurnpikeCore/Call/deadline(until:)`` sets the instant when the client of a server stops
/// waiting (`DeadlineField`). `PropagateDeadline` tells the next server how much time is left.
///
/// The gate can stop waiting for asynchronous work, but not for a synchronous hook. If an adapter,
/// logger, condition or policy blocks its thread, the caller waits for that hook even after the
/// limit.
public struct Deadline: PhasedInterceptor {
    private let limit: Duration

    /// Creates a deadline.
    /// - Parameter limit: The longest time a call may take, including its body.
    public init(_ limit: Duration = .seconds(30)) { self.limit = limit }

    /// The request options that set the deadline of one call.
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

    /// Starts the time limit of the call.
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
    /// The gate returns soon after a cancellation, even if an inner gate does not.
    public var promptness: Promptness { .always }
}

extension Gate where Self == Deadline {
    /// Ends a call that takes longer than a limit; see ``Deadline/init(_:)``.
    public static func deadline(_ limit: Duration = .seconds(30)) -> Self { Deadline(limit) }
}

/// The deadline of one call (``TurnpikeCore/Call/deadline(_:)``), for gates that apply deadlines.
public enum DeadlineOption: RequestOptionKey {
    /// Returns a ``Deadline``, which applies the option if the stack has no ``Deadline``.
    public static func gate(for value: Duration) -> (any Gate)? { Deadline(value) }
}

/// The instant when the caller of this service stops waiting
/// (``TurnpikeCore/Call/deadline(until:)``).
enum CallerDeadlineOption: RequestOptionKey {
    // The limit of this gate never ends, and only the option limits the call.
    static func gate(for value: MonotonicInstant) -> (any Gate)? { Deadline(.seconds(1 << 40)) }
}

extension Call {
    /// Ends this call at the latest at an instant of the client's clock, in addition to other
    /// deadlines.
    ///
    /// Pass the instant when the client of a server stops waiting (`DeadlineField`). After that
    /// instant the call fails with ``/TurnpikeCore/ClientError/Code/deadlineExceeded``, and nothing
    /// more is sent. If the instant is nil, only the other deadlines apply.
    public func deadline(until end: MonotonicInstant?) -> Call {
        end.map { option(CallerDeadlineOption.self, $0) } ?? self
    }

    /// Ends this call if the call takes longer than a limit.
    ///
    /// This limit replaces the client's deadline.
    ///
    /// The limit covers the call until the last byte of the body has arrived. If the call is
    /// ``/TurnpikeCore/Call/streaming()``, the limit applies only until the head arrives. The limit
    /// applies to each exchange separately: each attempt of a download that resumes, each
    /// connection of an event stream, and each page of a collection. To limit the total time of
    /// several exchanges, cancel the task.
    public func deadline(_ limit: Duration) -> Call { option(DeadlineOption.self, limit) }
}
