// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Applies gates only to requests for certain origins (scheme, host and port).
///
/// ```swift
/// let api = Origin(scheme: "https", host: "api.example.com", port: 443)
/// let client = Client(transport: transport, stack: [
///     .redirect(),
///     // This field goes nowhere else, not even by a redirect.
///     .only(for: [api], [.setHeaders(["X-Tenant": "blue"])]),
/// ])
/// ```
///
/// Place this gate inside a ``Redirect``, because a redirect may change the origin of the request.
public struct Only: GateGroup {
    /// The gates, outermost first.
    public let gates: [any Gate]
    private let origins: Set<Origin>

    /// Creates gates for some origins from a stack.
    public init(for origins: Set<Origin>, _ stack: Stack) {
        self.origins = origins
        gates = stack.gates
    }

    /// States that the gates apply only to requests to the origins.
    public func facts(for request: Request?) -> GateFacts? {
        let isMet = request.map { $0.origin.map(origins.contains) ?? false } ?? true
        let names = origins.map(\.description).sorted().joined(separator: ", ")
        var facts = GateFacts(
            "applies to requests to \(names.isEmpty ? "no origin" : names)",
            .selects(byOrigin: true),
            passedOver: isMet ? nil : "the request goes to another origin")
        facts.origins = origins
        return facts
    }

    /// Whether the request goes to one of the origins.
    public func applies(to request: Request, context: Context) -> Bool {
        request.origin.map(origins.contains) ?? false
    }
}

extension Gate where Self == Only {
    /// Applies gates only to requests for certain origins; see ``Only``.
    public static func only(for origins: Set<Origin>, _ stack: Stack) -> Self {
        Only(for: origins, stack)
    }
}
