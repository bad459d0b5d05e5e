// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

extension LintRule {
    static let statements: [LintRule] = [
        LintRule(
            "stated-order", .warning, "A gate in a place that its facts forbid",
            harm: "A gate states where it must stand and why, but it stands elsewhere.",
            remedy: "Move the gate to the place that it states",
            source: "the gate's own facts (GateFacts.order)",
            // There is one finding for each pair, because each pair has its own reason.
            offender: nil,
            edges: { subject in
                subject.entries.flatMap { entry in
                    (entry.facts?.order ?? []).flatMap { subject.edges(entry, $0) }
                }
            },
            story: { edge, subject in
                let statements = [(edge.outer, edge.inner, true), (edge.inner, edge.outer, false)]
                for (gate, other, isOuter) in statements {
                    for order in gate.facts?.order ?? []
                    where order.isOutside == isOuter && other.kinds.contains(order.kind) {
                        return "\(gate.name) must stand \(isOuter ? "outside" : "inside") of"
                            + " \(other.name). \(order.reason)"
                    }
                }
                return "\(edge.outer.name) must stand outside of \(edge.inner.name)"
            }),
        LintRule(
            "needed-gate-missing", .warning, "A gate without another gate that it needs",
            harm: """
                A gate states that it has no use without another gate, which the stack does not \
                have.
                """,
            remedy: "Add the other gate, or remove this gate",
            source: "the gate's own facts (GateFacts.order)",
            check: { subject in
                subject.entries.flatMap { entry in
                    (entry.facts?.order ?? []).compactMap { order in
                        guard order.needsOther, !subject.hasUnknown,
                            !subject.all(order.kind).contains(where: { subject.mayMeet(entry, $0) })
                        else { return nil }
                        return LintDraft(
                            "\(entry.name) needs \(order.kind.noun), and the stack has none."
                                + " \(order.reason)", entry)
                    }
                }
            }),
        LintRule(
            "contradictory-facts", .error, "A gate whose facts contradict each other",
            harm: "The findings and the bounds of the stack are not reliable.",
            remedy: "Correct the facts of the gate",
            source: "GateFacts",
            check: { subject in
                subject.entries.flatMap { entry in
                    (entry.facts?.contradictions ?? []).map {
                        LintDraft("\(entry.name) states \($0)", entry)
                    }
                }
            }),
    ]
}

extension LintSubject {
    fileprivate func edges(_ entry: Entry, _ order: GateOrder) -> [LintEdge] {
        let others = all(order.kind).filter { mayMeet(entry, $0) }
        switch order.relation {
        case .outside: return edges([entry], outside: others)
        case .inside: return edges(others, outside: [entry])
        // One other gate is enough, which is a gate in the right place or the nearest gate.
        case .outsideOfPresent:
            let other = others.first { $0.index > entry.index } ?? others.last
            return edges([entry], outside: other.map { [$0] } ?? [])
        case .insideOfPresent:
            let other = others.last { $0.index < entry.index } ?? others.first
            return edges(other.map { [$0] } ?? [], outside: [entry])
        }
    }
}

extension GateOrder {
    fileprivate var isOutside: Bool { relation == .outside || relation == .outsideOfPresent }

    fileprivate var needsOther: Bool {
        relation == .outsideOfPresent || relation == .insideOfPresent
    }
}

extension GateFacts {
    fileprivate var contradictions: [String] {
        var found = effects.compactMap(\.contradiction)
        for kind in GateKind.allCases {
            let relations = Set(order.filter { $0.kind == kind }.map(\.isOutside))
            if relations.count == 2 {
                found.append("that it must stand both outside and inside of \(kind.noun)")
            }
        }
        let single = Dictionary(grouping: effects.filter { $0.single != nil }) { $0.single ?? "" }
        for (name, values) in single.sorted(by: { $0.key < $1.key }) where Set(values).count > 1 {
            found.append("\(values.count) different figures for \(name)")
        }
        if passedOver != nil {
            found.append("that it is passed over, but the facts are not for a request")
        }
        return found
    }
}

extension GateEffect {
    /// Only one effect of a gate may have this key.
    fileprivate var single: String? {
        switch self {
        case .retries: "its attempts"
        case .hedges: "its copies"
        case .redirects: "its hops"
        case .limitsTime(_, let extent): "its limit up to the \(extent)"
        case .limitsConcurrency: "its permits"
        case .limitsContent: "its limit on content"
        case .limitsDecoding: "its limit on decoding"
        case .measures: "its labels"
        default: nil
        }
    }

    fileprivate var contradiction: String? {
        switch self {
        case .retries(let attempts?, _, _) where attempts < 2: "a retry with \(attempts) attempts"
        case .retries(_, let waits?, _) where waits < .zero: "waits of \(waits.text)"
        case .hedges(let copies, _) where copies < 1: "a hedge with \(copies) copies"
        case .hedges(_, let after?) where after < .zero: "a hedge after \(after.text)"
        case .redirects(let hops) where hops < 1: "a redirect with \(hops) hops"
        case .replays(let times) where times < 1: "\(times) replays"
        case .waits(let most?, _) where most < .zero: "a wait of \(most.text)"
        case .sharesState(_, _, let most) where most < .zero:
            "a wait of \(most.text) for a store"
        case .limitsConcurrency(let count?) where count < 1: "\(count) permits"
        case .limitsRate(let count, let time) where count < 1 || time <= .zero:
            "\(count) requests in \(time.text)"
        case .limitsContent(let bytes?) where bytes < 0,
            .holdsMemory(let bytes?) where bytes < 0, .holdsDisk(let bytes?) where bytes < 0:
            "\(bytes) bytes"
        case .limitsDecoding(let ratio) where ratio < 1: "a decoding limit of \(ratio) times"
        case .logs(let bytes) where bytes < 0: "lines with \(bytes) bytes of contents"
        case .setsFields(let names, _) where names.isEmpty: "that it sets fields, but names none"
        default: nil
        }
    }
}

extension GateKind {
    var noun: String {
        switch self {
        case .retry: "a retry"
        case .hedge: "a hedge"
        case .redirect: "a redirect"
        case .authentication: "a credential"
        case .cache: "a cache"
        case .coalesce: "a gate that shares exchanges"
        case .deadline: "a deadline"
        case .attemptTimeout: "an attempt timeout"
        case .concurrencyLimit: "a concurrency limit"
        case .rateLimit: "a rate limit"
        case .circuitBreaker: "a circuit breaker"
        case .endpoints: "a gate that chooses endpoints"
        case .validation: "a validation"
        case .cookies: "a cookie jar"
        case .log: "a log"
        case .metrics: "metrics"
        }
    }
}
