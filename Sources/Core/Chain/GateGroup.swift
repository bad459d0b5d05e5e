// SPDX-License-Identifier: Apache-2.0

/// Several gates that form one entry of a stack, for all requests or for some.
///
/// In the chain, the gates of a group are between the gates around the group. If the group does not
/// apply to a request, the request skips all of them. A group therefore costs a call one check and
/// no allocation. A retry inside a group also retries the gates after the group.
///
/// ```swift
/// struct Weekdays: GateGroup {
///     let gates: [any Gate]
///     func applies(to request: Request, context: Context) -> Bool { isWeekday(context.timeSource.date) }
/// }
/// ```
///
/// When a group is shut down, it shuts down its gates. A group handles only the request options
/// that it declares in `handledOptions`. If a call sets an option that only a gate in the group
/// handles (``RequestOptions``), the call also gets a gate around the stack, in case the group does
/// not apply.
public protocol GateGroup: Gate {
    /// The gates, outermost first.
    var gates: [any Gate] { get }

    /// Whether a request passes through the gates.
    ///
    /// Called for each attempt inside a retry, and for each request inside a redirect.
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
    var flattened: [any Gate] {
        guard let group = self as? any GateGroup else { return [self] }
        return [self] + group.gates.flatMap(\.flattened)
    }
}

/// A gate whose state must be separate from the state of equal gates in the same stack.
public protocol PlacedGate: Gate {
    /// Tells the gate which equal gates are before it in the stack. Called when a client is made
    /// and when the client's stack is replaced.
    /// - Parameter others: The gates of this kind that a request meets before this gate.
    func place(after others: [any PlacedGate])
}

extension Stack {
    func placeGates() {
        var placed: [any PlacedGate] = []
        for case let gate as any PlacedGate in gates.lazy.flatMap(\.flattened) {
            gate.place(after: placed)
            placed.append(gate)
        }
    }
}
