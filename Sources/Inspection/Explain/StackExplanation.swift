// SPDX-License-Identifier: Apache-2.0

/// What a stack will do to a request, and how bad it can become.
///
/// ```swift
/// let explanation = client.stack.explain(Request(.get, "https://api.example.com/"), on: client.transport)
/// print(explanation)
/// #expect(explanation.worst.time.value == .seconds(30))
/// ```
///
/// Its description is text for a terminal; ``json``, ``mermaid`` and
/// ``svg`` are other forms. Secrets are redacted in all of them, as in logs.
public struct StackExplanation: Sendable {
    /// The method of the request.
    public let method: String
    /// The URL of the request, with secrets redacted.
    public let url: String
    /// The name of the transport.
    public var transport: String
    /// Why the call fails before a gate sees it, or nil.
    public let fault: String?
    /// The gates, outermost first, with those of the request's own options.
    public let gates: [GateExplanation]
    /// The worst case of the call.
    public let worst: StackBounds

    /// The gate at a place.
    public func gate(at place: String) -> GateExplanation? {
        gates.lazy.flatMap(\.flattened).first { $0.place == place }
    }
}
