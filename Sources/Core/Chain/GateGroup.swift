// SPDX-License-Identifier: Apache-2.0

/// Several gates that form one entry of a stack, for all requests or for some.
///
/// In the chain, the gates of a group are between the gates around the group. If the group does
/// not apply to a request, the request skips all of them. A group therefore costs a call one check
/// and no allocation. Position keeps its meaning: a retry inside a group also retries what follows
/// the group.
///
/// ```swift
/// struct Weekdays: GateGroup {
///     let gates: [any Gate]
///     func applies(to request: Request, context: Context) -> Bool { isWeekday(context.timeSource.date) }
/// }
/// ```
///
/// When a group is shut down, it shuts down its gates. A group handles no request options unless it
/// declares them in `handledOptions`. If only a gate in the group handles an option of a call
/// (``RequestOptions``), the call also gets a gate around the stack, because the group may not
/// apply to the call.
public protocol GateGroup: Gate {
    /// The gates, outermost first.
    var gates: [any Gate] { get }

    /// Whether a request passes through the gates.
    ///
    /// This method is called for each request that arrives. Inside a retry, that is each attempt;
    /// inside a redirect, each hop.
    func applies(to request: Request, context: Context) -> Bool
}

extension GateGroup {
    /// Applies to all requests.
    public func applies(to request: Request, context: Context) -> Bool { true }

    /// Shuts down the gates.
    public func shutdown() async {
        for gate in gates { await gate.shutdown() }
    }
}

extension Gate {
    /// The gate, followed by the gates inside it if it is a group.
    var flattened: [any Gate] {
        guard let group = self as? any GateGroup else { return [self] }
        return [self] + group.gates.flatMap(\.flattened)
    }
}

/// A gate whose state must be separate from that of equal gates in the same stack.
public protocol PlacedGate: Gate {
    /// Tells the gate which equal gates are before it in the stack. This method is called when a
    /// client is made and when its stack is replaced.
    /// - Parameter others: The gates of this kind that a request meets before this gate.
    func place(after others: [any PlacedGate])
}

extension Stack {
    /// Calls each gate with the equal gates before it.
    func placeGates() {
        var placed: [any PlacedGate] = []
        for case let gate as any PlacedGate in gates.lazy.flatMap(\.flattened) {
            gate.place(after: placed)
            placed.append(gate)
        }
    }
}
