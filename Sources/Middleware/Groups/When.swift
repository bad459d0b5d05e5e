// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Applies gates to requests that meet a condition.
///
/// ```swift
/// let client = Client(transport: transport, stack: [
///     .when({ $0.method == .get }, then: [.retry(attempts: 5)]),
///     .when({ $0.url.path().hasPrefix("/admin/") }, then: [.log(to: .standardError)]),
/// ])
/// ```
///
/// The condition gets the request with the changes of the outer gates. The condition runs for each
/// hop inside a redirect gate, and for each attempt inside a retry gate. The condition must not
/// block. If the condition returns false, the request skips the gates of the group.
public struct When: GateGroup {
    /// The gates, outermost first.
    public let gates: [any Gate]
    private let condition: @Sendable (Request) -> Bool

    /// Creates gates for some requests from a stack.
    public init(_ condition: @escaping @Sendable (Request) -> Bool, then stack: Stack) {
        self.condition = condition
        gates = stack.gates
    }

    /// States that the gates apply only to requests that meet the condition.
    public func facts(for request: Request?) -> GateFacts? {
        let isMet = request.map(condition) ?? true
        return GateFacts(
            "applies to requests that meet its condition", .selects(byOrigin: false),
            passedOver: isMet ? nil : "the request does not meet its condition")
    }

    /// Whether the request meets the condition.
    public func applies(to request: Request, context: Context) -> Bool { condition(request) }
}

extension Gate where Self == When {
    /// Applies gates to requests that meet a condition; see ``When``.
    public static func when(
        _ condition: @escaping @Sendable (Request) -> Bool, then stack: Stack
    ) -> Self {
        When(condition, then: stack)
    }
}
