// SPDX-License-Identifier: Apache-2.0

/// Several gates that form one entry of a stack, for all requests or for some requests.
///
/// In the chain, the gates of a group run at the place of the group. If the group does not apply to
/// a request, the request skips all gates of the group. The cost of a group for a call is one check
/// without an allocation. A retry gate inside a group also retries the gates after the group.
///
/// ```swift
/// struct Weekdays: GateGroup {
///     let gates: [any Gate]
///     func applies(to request: Request, context: Context) -> Bool { isWeekday(context.timeSource.date) }
/// }
/// ```
///
/// When a group is shut down, the group shuts down its gates. A group handles only the request
/// options in the group's `handledOptions`. A call may set an option that only a gate in the
/// group handles (``RequestOptions``). A call with such an option also gets a gate around the
/// stack, because the group may skip the request.
public protocol GateGroup: Gate {
    /// The gates, outermost first.
    var gates: [any Gate] { get }

    /// Whether a request passes through the gates.
    ///
    /// The framework calls this method for each attempt inside a retry gate, and for each request
    /// inside a redirect gate.
    func applies(to request: Request, context: Context) -> Bool
}

extension GateGroup {
    /// By default, the group applies to all requests.
    public func applies(to request: Request, context: Context) -> Bool { true }

    /// Shuts down the gates of the group.
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

/// A gate that does not share its state with equal gates in the same stack.
public protocol PlacedGate: Gate {
    /// Tells the gate which equal gates are before this gate in the stack. The framework calls this
    /// method when a client is created and when the client's stack is replaced.
    /// - Parameter others: The equal gates that a request passes before this gate.
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
