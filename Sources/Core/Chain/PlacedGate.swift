// SPDX-License-Identifier: Apache-2.0

/// A gate whose state must be separate from that of equal gates in the same stack.
public protocol PlacedGate: Gate {
    /// Called with the equal gates before this one, when a client is made and when its stack is
    /// replaced.
    /// - Parameter others: The gates of this kind that a request meets before this one.
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
