// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// Ends a transfer whose body stalls or arrives too slowly.
///
/// The time counts only while the caller waits for a chunk. A caller that reads slowly causes no
/// error. The limit ends when the whole body has arrived. If a wait is too long, the call fails
/// with ``/TurnpikeCore/ClientError/Code/idleTimeout``. If a call is
/// ``/TurnpikeCore/Call/streaming()``, the gate's limit does not apply, but the call can set a
/// limit. ``TurnpikeCore/Call/idleTimeout(_:minBytesPerSecond:window:)`` sets another limit for one
/// call.
public struct IdleTimeout: PhasedInterceptor {
    // If the limit is nil, the gate limits only calls that have the option.
    private let limit: Duration?
    private let minBytes: Int
    private let window: Duration

    /// Creates a limit on idle time.
    /// - Parameters:
    ///   - limit: The longest wait for a chunk. With zero or less, every wait fails.
    ///   - minBytesPerSecond: The lowest average rate; 0 allows any rate.
    ///   - window: The waiting time over which the rate is averaged.
    public init(
        _ limit: Duration = .seconds(30), minBytesPerSecond: Int = 0,
        window: Duration = .seconds(10)
    ) {
        self.limit = limit
        minBytes = Int(min(max(window.inSeconds * Double(minBytesPerSecond), 0), 1e15))
        self.window = window
    }

    fileprivate init(ofCalls: Void) {
        limit = nil
        minBytes = 0
        window = .zero
    }

    /// The request option that sets the limit of one call.
    public var handledOptions: [any RequestOptionKey.Type] { [IdleTimeoutOption.self] }

    /// States the limit on stalled bodies.
    public func facts(for request: Request?) -> GateFacts? {
        let own = request?.options[IdleTimeoutOption.self]
        guard let limit = own?.limit ?? limit else {
            return GateFacts(
                "ends stalled bodies of calls that set a limit",
                passedOver: request.map { _ in "the call sets no limit" })
        }
        var passedOver: String?
        if let options = request?.options {
            if options.isOneTime { passedOver = "the request can be sent only once" }
            if own == nil, options.isStreaming { passedOver = "the call streams" }
        }
        return GateFacts(
            "ends a body if no byte arrives for \(limit.text)", .limitsTime(limit, .silence),
            passedOver: passedOver)
    }

    /// Sets the limit for content that an inner retry gate reads.
    public func before(_ request: Request, context: Context, next: Next) throws -> Context {
        guard let rule = rule(for: request), let limit = rule.limit else { return context }
        return next.context(idleFor: limit, minBytes: rule.minBytes, window: rule.window)
    }

    /// Sets the limit for the body of the response.
    public func after(_ response: Response, to request: Request, context: Context) throws -> Bool {
        guard let rule = rule(for: request), let limit = rule.limit else { return true }
        response.body.limitIdleTime(
            to: limit, minBytes: rule.minBytes, window: rule.window,
            timeSource: context.timeSource)
        return true
    }

    private func rule(for request: Request) -> IdleTimeout? {
        let options = request.options
        if options.isEmpty { return self }
        if options.isOneTime { return nil }
        return options[IdleTimeoutOption.self] ?? (options.isStreaming ? nil : self)
    }
}

extension IdleTimeout: PromptlyCancellable {}

enum IdleTimeoutOption: RequestOptionKey {
    /// A request that a gate sends for all calls, such as a request for a token, does not have this
    /// option and has no limit.
    static func gate(for value: IdleTimeout) -> (any Gate)? { IdleTimeout(ofCalls: ()) }

    /// The gate is innermost, because each attempt has its own body.
    static var gatePlace: GatePlace { .innermost }
}

extension Gate where Self == IdleTimeout {
    /// Ends a transfer whose body stalls; see ``IdleTimeout/init(_:minBytesPerSecond:window:)``.
    public static func idleTimeout(
        _ limit: Duration = .seconds(30), minBytesPerSecond: Int = 0,
        window: Duration = .seconds(10)
    ) -> Self {
        IdleTimeout(limit, minBytesPerSecond: minBytesPerSecond, window: window)
    }
}

extension Call {
    /// Ends this call if its body stalls or arrives too slowly.
    ///
    /// This limit replaces the client's limit and lowest rate for this call; see
    /// ``IdleTimeout/init(_:minBytesPerSecond:window:)``.
    ///
    /// The limit also applies to a call that is ``/TurnpikeCore/Call/streaming()``. If the client
    /// has no ``IdleTimeout``, the limit applies to each response of the transport.
    public func idleTimeout(
        _ limit: Duration, minBytesPerSecond: Int = 0, window: Duration = .seconds(10)
    ) -> Call {
        option(
            IdleTimeoutOption.self,
            IdleTimeout(limit, minBytesPerSecond: minBytesPerSecond, window: window))
    }
}
