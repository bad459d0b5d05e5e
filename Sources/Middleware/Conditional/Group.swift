public import TurnpikeCore

/// A stack that stands as one gate in another.
///
/// It is for gates that belong together and are handed around as a value: what a team's services
/// share, what a plugin brings.
///
/// ```swift
/// let house = Group(name: "house rules") {
///     Limits()
///     IdleTimeout(.seconds(20))
/// }
/// let client = Client(transport: transport, stack: [.deadline(.seconds(30)), house, .retry(attempts: 3)])
/// ```
///
/// In a builder a ``/TurnpikeCore/Stack`` can be written as it is; its gates then stand for
/// themselves.
public struct Group: GateGroup {
    /// What stack descriptions call the group.
    public let name: String
    /// The gates, outermost first.
    public let gates: [any Gate]

    /// Creates a group from a list.
    public init(_ stack: Stack, name: String = "Group") {
        self.name = name
        gates = stack.gates
    }

    /// Creates a group from types.
    public init(name: String = "Group", @StackBuilder _ gates: () -> [any Gate]) {
        self.name = name
        self.gates = gates()
    }

    /// The options of the gates: a group always applies.
    public var handledOptions: [any RequestOptionKey.Type] { gates.flatMap(\.handledOptions) }
}

extension Gate where Self == Group {
    /// A stack that stands as one gate; see ``Group``.
    public static func group(_ stack: Stack, name: String = "Group") -> Self {
        Group(stack, name: name)
    }
}
