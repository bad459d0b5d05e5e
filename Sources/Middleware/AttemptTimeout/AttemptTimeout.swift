// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// Ends an attempt if the head of its response does not arrive within a limit.
///
/// Place it inside a retry. The body has limits of its own: ``IdleTimeout`` and ``Deadline``. If
/// the deadline comes before the limit ends, the deadline decides. An attempt that takes too long
/// fails as ``/TurnpikeCore/ClientError/Code/attemptTimeout``, and a retry may try again.
/// ``TurnpikeCore/Call/attemptTimeout(_:)`` sets another limit for one call.
public struct AttemptTimeout: PhasedInterceptor {
    // The limit is nil if only calls with their own limit are limited.
    private let limit: Duration?

    /// Creates a time limit for attempts.
    /// - Parameter limit: The longest time from the attempt's start to its response's head; zero or
    ///   less leaves no time.
    public init(_ limit: Duration = .seconds(10)) { self.limit = limit }

    /// Creates a gate that limits only requests that set a limit.
    fileprivate init(ofCalls: Void) { limit = nil }

    /// The option that sets the limit of one call.
    public var handledOptions: [any RequestOptionKey.Type] { [AttemptTimeoutOption.self] }

    /// States the limit on an attempt.
    public func facts(for request: Request?) -> GateFacts? {
        guard let limit = request?.options[AttemptTimeoutOption.self] ?? limit else {
            return GateFacts(
                "ends attempts of calls that ask for it",
                passedOver: request.map { _ in "the call asks for no limit" })
        }
        return GateFacts(
            "ends an attempt whose head has not come after \(limit.text)",
            .limitsTime(limit, .head),
            passedOver: request?.options.isOneTime == true
                ? "the request can be sent only once" : nil)
    }

    /// Begins the limit.
    public func before(_ request: Request, context: Context, next: Next) throws -> Context {
        let options = request.options
        var limit = limit
        if !options.isEmpty {
            if options.isOneTime { return context }
            limit = options[AttemptTimeoutOption.self] ?? limit
        }
        guard let limit else { return context }
        if let left = context.timeLeft, left <= limit { return context.child() }
        return context.child(within: limit, upToHead: true) { limit in
            ClientError(
                .attemptTimeout, "no response came within \(limit.text)",
                transfer: TransferState(.sending))
        }
    }
}

extension AttemptTimeout: PromptlyCancellable {
    /// With a limit, a pass ends soon after a cancellation, even if the rest of the chain does not.
    public var promptness: Promptness { limit == nil ? .withInside : .always }
}

/// The time limit for the attempts of one call.
enum AttemptTimeoutOption: RequestOptionKey {
    /// The gate that applies the option.
    ///
    /// A request that another gate sends for all calls, such as a request for a token, has neither
    /// the option nor the limit.
    static func gate(for value: Duration) -> (any Gate)? { AttemptTimeout(ofCalls: ()) }

    /// The gate is added inside all retries.
    static var gatePlace: GatePlace { .innermost }
}

extension Gate where Self == AttemptTimeout {
    /// Ends an attempt whose response does not arrive in time; see ``AttemptTimeout/init(_:)``.
    public static func attemptTimeout(_ limit: Duration = .seconds(10)) -> Self {
        AttemptTimeout(limit)
    }
}

extension Call {
    /// Ends each attempt of this call whose response head is later than a limit.
    ///
    /// This limit replaces the client's limit.
    ///
    /// The ``AttemptTimeout`` of the stack applies the limit. If the stack has no such gate, the
    /// limit applies next to the transport, to each send. The deadline of the call
    /// still covers all its attempts.
    public func attemptTimeout(_ limit: Duration) -> Call {
        option(AttemptTimeoutOption.self, limit)
    }
}
