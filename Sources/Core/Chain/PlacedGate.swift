// SPDX-License-Identifier: Apache-2.0

/// A gate whose state must be separate from that of equal gates in the same stack.
public protocol PlacedGate: Gate {
    /// Learns what stands before it, when a client is made and when its stack is replaced.
    /// - Parameter others: The gates of this kind that a request meets before this one.
    func place(after others: [any PlacedGate])
}

extension Stack {
    /// Tells the gates what stands before them.
    func placeGates() {
        var placed: [any PlacedGate] = []
        for case let gate as any PlacedGate in gates.lazy.flatMap(\.flattened) {
            gate.place(after: placed)
            placed.append(gate)
        }
    }
}
