// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// An order of a stack that keeps all rules of order, and changes as little as it must.
struct LintOrder {
    private let gates: [any Gate]
    // The demands on the gates of the stack (no path) and of each group: pairs of positions.
    private var demands: [[Int]: Set<[Int]>] = [:]

    init(_ stack: Stack, _ edges: [LintEdge]) {
        gates = stack.gates
        for edge in edges {
            let (outer, inner) = (edge.outer.path, edge.inner.path)
            let common = zip(outer, inner).prefix { $0 == $1 }.count
            // A gate and the group around it have no order.
            guard common < outer.count, common < inner.count else { continue }
            demands[Array(outer.prefix(common)), default: []]
                .insert([outer[common], inner[common]])
        }
    }

    /// The names in that order; nil if there is none.
    var names: [String]? { names(of: gates, at: []) }

    private func names(of gates: [any Gate], at path: [Int]) -> [String]? {
        guard let order = order(gates.count, demands[path] ?? []) else { return nil }
        var names: [String] = []
        for number in order {
            let gate = gates[number]
            guard let group = gate as? any GateGroup else {
                names.append(gate.gateName)
                continue
            }
            guard let inner = self.names(of: group.gates, at: path + [number]) else { return nil }
            names.append(gate.gateName + "(" + inner.joined(separator: ", ") + ")")
        }
        return names
    }

    // Kahn's algorithm, which takes the first of the gates that may come next.
    private func order(_ count: Int, _ demands: Set<[Int]>) -> [Int]? {
        var waiting = [Int](repeating: 0, count: count)
        var inside = [[Int]](repeating: [], count: count)
        for demand in demands {
            waiting[demand[1]] += 1
            inside[demand[0]].append(demand[1])
        }
        var isPlaced = [Bool](repeating: false, count: count)
        // All gates before it have their places.
        var first = 0
        var order: [Int] = []
        while let next = (first..<count).first(where: { !isPlaced[$0] && waiting[$0] == 0 }) {
            isPlaced[next] = true
            order.append(next)
            for other in inside[next] { waiting[other] -= 1 }
            while first < count, isPlaced[first] { first += 1 }
        }
        return order.count == count ? order : nil
    }
}
