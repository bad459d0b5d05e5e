// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// An order of the stack that satisfies all rules of order with few changes.
struct LintOrder {
    private let gates: [any Gate]
    // The required orders as pairs of positions, for the stack (empty path) and for each group.
    private var demands: [[Int]: Set<[Int]>] = [:]

    init(_ stack: Stack, _ edges: [LintEdge]) {
        gates = stack.gates
        for edge in edges {
            let (outer, inner) = (edge.outer.path, edge.inner.path)
            let common = zip(outer, inner).prefix { $0 == $1 }.count
            // No order is defined between a gate and the group of this gate.
            guard common < outer.count, common < inner.count else { continue }
            demands[Array(outer.prefix(common)), default: []]
                .insert([outer[common], inner[common]])
        }
    }

    /// The names of the gates in the repaired order, or nil if no order satisfies the rules.
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

    // Uses Kahn's algorithm, and always takes the first gate that may come next.
    private func order(_ count: Int, _ demands: Set<[Int]>) -> [Int]? {
        var waiting = [Int](repeating: 0, count: count)
        var inside = [[Int]](repeating: [], count: count)
        for demand in demands {
            waiting[demand[1]] += 1
            inside[demand[0]].append(demand[1])
        }
        var isPlaced = [Bool](repeating: false, count: count)
        // All gates before this position are already placed.
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

struct LintEdge: Sendable {
    enum Side: Sendable {
        case outer, inner
    }

    let outer: LintSubject.Entry
    let inner: LintSubject.Entry

    var isBroken: Bool { inner.index < outer.index }

    subscript(side: Side) -> LintSubject.Entry { side == .outer ? outer : inner }
}

struct LintBreach: Sendable {
    let edge: LintEdge
    let others: [LintSubject.Entry]

    var outer: LintSubject.Entry { edge.outer }
    var inner: LintSubject.Entry { edge.inner }
    var gates: [LintSubject.Entry] { [outer, inner] + others }

    /// Returns one violation for each gate on the offender's side, or one violation for each edge.
    static func all(_ edges: [LintEdge], _ offender: LintEdge.Side?) -> [LintBreach] {
        guard let offender else { return edges.map { LintBreach(edge: $0, others: [$0.inner]) } }
        let other: LintEdge.Side = offender == .outer ? .inner : .outer
        let groups = Dictionary(grouping: edges) { $0[offender].index }
        return groups.sorted { $0.key < $1.key }.compactMap { _, edges in
            let edges = edges.sorted { $0[other].index < $1[other].index }
            return edges.first.map { LintBreach(edge: $0, others: edges.map { $0[other] }) }
        }
    }

    /// The number of attempts that the other retry gates make of one call, or nil for any number.
    var attempts: Int? { LintSubject.product(others) { $0.retries?.attempts } }

    /// The number of requests that the other redirects make of one call, or nil for any number.
    var requests: Int? { LintSubject.product(others) { Self.count($0.effects) } }

    private static func count(_ effects: [GateEffect]) -> Int? {
        for effect in effects {
            guard case .redirects(let hops) = effect, hops < 1_048_576 else { continue }
            return max(hops, 0) + 1
        }
        return nil
    }

    var names: String {
        var names: [String] = []
        for other in others where !names.contains(other.name) { names.append(other.name) }
        return names.joined(separator: " and ")
    }
}
