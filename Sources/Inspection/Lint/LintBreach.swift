// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// A gate that must stand outside of another one.
struct LintEdge: Sendable {
    /// One of its two gates.
    enum Side: Sendable {
        case outer, inner
    }

    let outer: LintSubject.Entry
    let inner: LintSubject.Entry

    var isBroken: Bool { inner.index < outer.index }

    subscript(side: Side) -> LintSubject.Entry { side == .outer ? outer : inner }
}

/// A gate that stands in the wrong order with others.
struct LintBreach: Sendable {
    /// The gate with the first of the others.
    let edge: LintEdge
    /// The gates that it stands in the wrong order with, outermost first.
    let others: [LintSubject.Entry]

    var outer: LintSubject.Entry { edge.outer }
    var inner: LintSubject.Entry { edge.inner }
    /// All gates of the breach.
    var gates: [LintSubject.Entry] { [outer, inner] + others }

    /// The breaches in broken edges: one for each gate on a side, or else one for each edge.
    static func all(_ edges: [LintEdge], _ offender: LintEdge.Side?) -> [LintBreach] {
        guard let offender else { return edges.map { LintBreach(edge: $0, others: [$0.inner]) } }
        let other: LintEdge.Side = offender == .outer ? .inner : .outer
        let groups = Dictionary(grouping: edges) { $0[offender].index }
        return groups.sorted { $0.key < $1.key }.compactMap { _, edges in
            let edges = edges.sorted { $0[other].index < $1[other].index }
            return edges.first.map { LintBreach(edge: $0, others: edges.map { $0[other] }) }
        }
    }

    /// How many attempts the retries among the others make of a call; nil for any number.
    var attempts: Int? { LintSubject.product(others) { $0.retries?.attempts } }

    /// How many requests the redirects among the others make of a call; nil for any number.
    var requests: Int? { LintSubject.product(others) { Self.count($0.effects) } }

    private static func count(_ effects: [GateEffect]) -> Int? {
        for effect in effects {
            guard case .redirects(let hops) = effect, hops < 1_048_576 else { continue }
            return max(hops, 0) + 1
        }
        return nil
    }

    /// The names of the others, each once: `Retry and Hedge`.
    var names: String {
        var names: [String] = []
        for other in others where !names.contains(other.name) { names.append(other.name) }
        return names.joined(separator: " and ")
    }
}
