public import TurnpikeCore

/// Gates for those requests for which a condition holds.
///
/// ```swift
/// let client = Client(transport: transport) {
///     When { $0.method == .get } then: {
///         Retry(attempts: 5)
///     }
///     When { $0.url.path().hasPrefix("/admin/") } then: {
///         Log(to: .standardError)
///     }
/// }
/// let same: Stack = [.when({ $0.method == .get }, then: [.retry(attempts: 5)])]
/// ```
///
/// The condition sees the request as the gates outside left it, and is asked each time that one
/// arrives: below a redirect for each hop, below a retry for each attempt. It must not block. Where
/// it does not hold the request goes on behind the gates, as if they were not there.
public struct When: GateGroup {
    /// The gates, outermost first.
    public let gates: [any Gate]
    private let condition: @Sendable (Request) -> Bool

    /// Creates gates for some requests, from a list.
    public init(_ condition: @escaping @Sendable (Request) -> Bool, then stack: Stack) {
        self.condition = condition
        gates = stack.gates
    }

    /// Creates gates for some requests, from types.
    public init(
        _ condition: @escaping @Sendable (Request) -> Bool,
        @StackBuilder then gates: () -> [any Gate]
    ) {
        self.condition = condition
        self.gates = gates()
    }

    /// Whether the condition holds.
    public func applies(to request: Request, context: Context) -> Bool { condition(request) }
}

extension Gate where Self == When {
    /// Gates for those requests for which a condition holds; see ``When``.
    public static func when(
        _ condition: @escaping @Sendable (Request) -> Bool, then stack: Stack
    ) -> Self {
        When(condition, then: stack)
    }
}
