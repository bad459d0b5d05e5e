// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Combines a stack into one gate of another stack.
///
/// Use a group for gates that several services share, or that a plugin provides.
///
/// ```swift
/// let house = Group([.limits(), .idleTimeout(.seconds(20))], name: "house rules")
/// let client = Client(transport: transport, stack: [.deadline(.seconds(30)), house, .retry(attempts: 3)])
/// ```
///
/// The builder of a stack can also contain a ``/TurnpikeCore/Stack``. The gates of that stack
/// become gates of the outer stack.
public struct Group: GateGroup {
    /// The name of the group in stack descriptions.
    public let gateName: String
    /// The gates, outermost first.
    public let gates: [any Gate]

    /// Creates a group from a stack.
    public init(_ stack: Stack, name: String = "Group") {
        self.gateName = name
        gates = stack.gates
    }

    /// States that the gates always apply.
    public func facts(for request: Request?) -> GateFacts? { GateFacts("always applies") }

    /// The request options that the gates of the group handle.
    public var handledOptions: [any RequestOptionKey.Type] { gates.flatMap(\.handledOptions) }
}

extension Gate where Self == Group {
    /// Makes one gate of a stack; see ``Group``.
    public static func group(_ stack: Stack, name: String = "Group") -> Self {
        Group(stack, name: name)
    }
}
