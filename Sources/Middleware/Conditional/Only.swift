public import TurnpikeCore

/// Gates for requests to some origins: scheme, host and port.
///
/// ```swift
/// let client = Client(transport: transport) {
///     Redirect()
///     Only(for: [Origin(scheme: "https", host: "api.example.com", port: 443)]) {
///         SetHeaders(["X-Tenant": "blue"])  // goes nowhere else, not even by a redirect
///     }
/// }
/// ```
///
/// Place it inside a redirect, where each hop is judged for its own origin.
public struct Only: GateGroup {
    /// The gates, outermost first.
    public let gates: [any Gate]
    private let origins: Set<Origin>

    /// Creates gates for some origins, from a list.
    public init(for origins: Set<Origin>, _ stack: Stack) {
        self.origins = origins
        gates = stack.gates
    }

    /// Creates gates for some origins, from types.
    public init(for origins: Set<Origin>, @StackBuilder _ gates: () -> [any Gate]) {
        self.origins = origins
        self.gates = gates()
    }

    /// Whether the request goes to one of the origins.
    public func applies(to request: Request, context: Context) -> Bool {
        request.origin.map(origins.contains) ?? false
    }
}

extension Gate where Self == Only {
    /// Gates for requests to some origins; see ``Only``.
    public static func only(for origins: Set<Origin>, _ stack: Stack) -> Self {
        Only(for: origins, stack)
    }
}
