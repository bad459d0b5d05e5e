// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// Ends an attempt if the response head does not arrive within a limit.
///
/// Place this gate inside a retry gate. If the head takes longer, the attempt fails with the code
/// ``/TurnpikeCore/ClientError/Code/attemptTimeout``, and the retry gate may send the request
/// again. If the deadline of the call ends before this limit, the call fails with the error of the
/// deadline. ``IdleTimeout`` and ``Deadline`` limit the body.
/// ``TurnpikeCore/Call/attemptTimeout(_:)`` sets another limit for one call.
public struct AttemptTimeout: PhasedInterceptor {
    // If the limit is nil, the gate limits only calls that have the option.
    private let limit: Duration?

    /// Creates a time limit for attempts.
    /// - Parameter limit: The longest time from the start of an attempt to the response head. With
    ///   zero or less, every attempt fails.
    public init(_ limit: Duration = .seconds(10)) { self.limit = limit }

    fileprivate init(ofCalls: Void) { limit = nil }

    /// The request option that sets the limit of one call.
    public var handledOptions: [any RequestOptionKey.Type] { [AttemptTimeoutOption.self] }

    /// States the limit on an attempt.
    public func facts(for request: Request?) -> GateFacts? {
        guard let limit = request?.options[AttemptTimeoutOption.self] ?? limit else {
            return GateFacts(
                "ends slow attempts of calls that set a limit",
                passedOver: request.map { _ in "the call sets no limit" })
        }
        return GateFacts(
            "ends an attempt whose head has not come after \(limit.text)",
            .limitsTime(limit, .head),
            passedOver: request?.options.isOneTime == true
                ? "the request can be sent only once" : nil)
    }

    /// Starts the time limit of the attempt.
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
    /// With a limit, the gate returns soon after a cancellation, even if an inner gate does not.
    public var promptness: Promptness { limit == nil ? .withInside : .always }
}

enum AttemptTimeoutOption: RequestOptionKey {
    /// A request that a gate sends for all calls, such as a request for a token, does not have this
    /// option and has no limit.
    static func gate(for value: Duration) -> (any Gate)? { AttemptTimeout(ofCalls: ()) }

    static var gatePlace: GatePlace { .innermost }
}

extension Gate where Self == AttemptTimeout {
    /// Ends an attempt whose response does not arrive in time; see ``AttemptTimeout/init(_:)``.
    public static func attemptTimeout(_ limit: Duration = .seconds(10)) -> Self {
        AttemptTimeout(limit)
    }
}

extension Call {
    /// Ends each attempt of this call whose response head does not arrive within a limit.
    ///
    /// The limit replaces the limit of the client for this call. If the client has no
    /// ``AttemptTimeout``, the limit applies to each request that the transport sends. The deadline
    /// of the call still limits the total time of all attempts.
    public func attemptTimeout(_ limit: Duration) -> Call {
        option(AttemptTimeoutOption.self, limit)
    }
}
