// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// Ends a transfer whose body stalls, or arrives too slowly.
///
/// Time counts only while the reader waits for a chunk, so a slow reader does not make a server
/// idle. The limit ends when the whole body has arrived. A read that waits too long fails as
/// ``/TurnpikeCore/ClientError/Code/idleTimeout``. A call that is
/// ``/TurnpikeCore/Call/streaming()`` has no limit, unless it sets a limit itself:
/// ``TurnpikeCore/Call/idleTimeout(_:minBytesPerSecond:window:)`` replaces this limit for one call.
public struct IdleTimeout: PhasedInterceptor {
    // The limit is nil if only calls with their own limit are limited.
    private let limit: Duration?
    private let minBytes: Int
    private let window: Duration

    /// Creates a limit on idle time.
    /// - Parameters:
    ///   - limit: The longest wait for a chunk; zero or less leaves no time.
    ///   - minBytesPerSecond: The lowest rate, averaged over a window of waiting time; 0: no rate.
    ///   - window: The waiting time over which the rate is averaged.
    public init(
        _ limit: Duration = .seconds(30), minBytesPerSecond: Int = 0,
        window: Duration = .seconds(10)
    ) {
        self.limit = limit
        minBytes = Int(min(max(window.inSeconds * Double(minBytesPerSecond), 0), 1e15))
        self.window = window
    }

    /// Creates a gate that limits only requests that set a limit.
    fileprivate init(ofCalls: Void) {
        limit = nil
        minBytes = 0
        window = .zero
    }

    /// The option that sets the limit of one call.
    public var handledOptions: [any RequestOptionKey.Type] { [IdleTimeoutOption.self] }

    /// States the limit on stalled bodies.
    public func facts(for request: Request?) -> GateFacts? {
        let own = request?.options[IdleTimeoutOption.self]
        guard let limit = own?.limit ?? limit else {
            return GateFacts(
                "ends stalled bodies of calls that ask for it",
                passedOver: request.map { _ in "the call asks for no limit" })
        }
        var passedOver: String?
        if let options = request?.options {
            if options.isOneTime { passedOver = "the request can be sent only once" }
            if own == nil, options.isStreaming { passedOver = "the call streams" }
        }
        return GateFacts(
            "ends a body that is silent for \(limit.text)", .limitsTime(limit, .silence),
            passedOver: passedOver)
    }

    /// Limits the content that an inner retry reads.
    public func before(_ request: Request, context: Context, next: Next) throws -> Context {
        guard let rule = rule(for: request), let limit = rule.limit else { return context }
        return next.context(idleFor: limit, minBytes: rule.minBytes, window: rule.window)
    }

    /// Limits the response's body.
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

/// The limit on idle time of one call.
enum IdleTimeoutOption: RequestOptionKey {
    /// The gate that applies the option.
    ///
    /// A request that another gate sends for all calls, such as a request for a token, has neither
    /// the option nor the limit.
    static func gate(for value: IdleTimeout) -> (any Gate)? { IdleTimeout(ofCalls: ()) }

    /// Each attempt has its own body.
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
    /// This limit replaces the client's limit; see
    /// ``IdleTimeout/init(_:minBytesPerSecond:window:)``.
    ///
    /// It replaces the client's limit as a whole, its lowest rate included, and also applies to a
    /// call that is ``/TurnpikeCore/Call/streaming()``. The ``IdleTimeout`` of the stack applies
    /// it. If the stack has no such gate, the limit applies next to the transport.
    public func idleTimeout(
        _ limit: Duration, minBytesPerSecond: Int = 0, window: Duration = .seconds(10)
    ) -> Call {
        option(
            IdleTimeoutOption.self,
            IdleTimeout(limit, minBytesPerSecond: minBytesPerSecond, window: window))
    }
}
