// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

struct LintSubject: Sendable {
    struct Entry: Sendable {
        let index: Int
        let path: [Int]
        let name: String
        let facts: GateFacts?
        /// Whether the gate may have effects that the facts of the gate do not contain.
        let isUnknown: Bool
        /// The groups around the gate that apply only to some requests.
        let conditions: Set<[Int]>
        let isBoundByOrigin: Bool
        let originsAround: Set<Origin>?
        /// The gate's facts for a request to the client's base URL; nil if the client has no base
        /// URL, or no request to this URL passes through the gate.
        let factsAtBase: GateFacts?

        var kinds: Set<GateKind> { facts?.kinds ?? [] }
        var effects: [GateEffect] { facts?.effects ?? [] }
        var place: LintPlace { LintPlace(path: path, name: name) }
    }

    let entries: [Entry]
    let capabilities: TransportCapabilities
    let canEndProcess: Bool
    let base: Origin?

    /// Stacks with more gates are not checked, because a rule compares each pair of gates.
    static let maxGates = 100

    init(_ stack: Stack, _ transport: any Transport, baseURL: Target?) {
        capabilities = transport.capabilities
        canEndProcess = transport.canEndProcess
        let request = baseURL.map { Request(.get, $0) }
        base = request?.origin
        var entries: [Entry] = []
        Self.add(stack.gates, at: [], [], isBound: false, in: nil, request, to: &entries)
        self.entries = entries
    }

    private static func add(
        _ gates: [any Gate], at path: [Int], _ conditions: Set<[Int]>, isBound: Bool,
        in origins: Set<Origin>?, _ request: Request?, to entries: inout [Entry]
    ) {
        for (number, gate) in gates.enumerated() where entries.count < maxGates {
            let path = path + [number]
            let facts = gate.facts(for: nil)
            let atBase = request.flatMap { gate.facts(for: $0) }
            let passes = atBase?.passedOver == nil
            let group = gate as? any GateGroup
            entries.append(
                Entry(
                    index: entries.count, path: path, name: gate.gateName, facts: facts,
                    isUnknown: facts == nil && gate is any Interceptor, conditions: conditions,
                    isBoundByOrigin: isBound, originsAround: origins,
                    factsAtBase: passes ? atBase : nil))
            guard let group else { continue }
            var (inner, isInnerBound) = (conditions, isBound)
            // A group without facts may apply to any request.
            if facts == nil { inner.insert(path) }
            for case .selects(let byOrigin) in facts?.effects ?? [] {
                inner.insert(path)
                if byOrigin { isInnerBound = true }
            }
            let listed = facts?.origins
            add(
                group.gates, at: path, inner, isBound: isInnerBound,
                in: origins.map { $0.intersection(listed ?? $0) } ?? listed,
                passes ? request : nil, to: &entries)
        }
    }

    // MARK: Asking

    var hasUnknown: Bool { entries.contains(where: \.isUnknown) }

    func all(_ kind: GateKind) -> [Entry] { entries.filter { $0.kinds.contains(kind) } }

    func outermost(_ kind: GateKind) -> [Entry] {
        let all = all(kind)
        return all.filter { entry in
            !all.contains {
                $0.index < entry.index && $0.conditions.isSubset(of: entry.conditions)
            }
        }
    }

    /// The gates of one kind that share no request with a gate of the other kind.
    func all(_ kind: GateKind, without other: GateKind) -> [Entry] {
        if hasUnknown { return [] }
        let others = all(other)
        return all(kind).filter { gate in !others.contains { mayMeet($0, gate) } }
    }

    func all(where isMeant: (GateEffect) -> Bool) -> [Entry] {
        entries.filter { $0.effects.contains(where: isMeant) }
    }

    func mayMeet(_ first: Entry, _ second: Entry) -> Bool {
        first.index != second.index
            && (first.conditions.isSubset(of: second.conditions)
                || second.conditions.isSubset(of: first.conditions))
    }

    /// The requirement that each gate of one list is outside of each gate of the other list.
    func edges(_ outer: [Entry], outside inner: [Entry]) -> [LintEdge] {
        outer.flatMap { outer in
            inner.compactMap { mayMeet(outer, $0) ? LintEdge(outer: outer, inner: $0) : nil }
        }
    }

    /// The requirement that gates of one kind are outside of gates of the other kind.
    func edges(_ outer: GateKind, outside inner: GateKind) -> [LintEdge] {
        edges(all(outer), outside: all(inner))
    }

    /// The requirement that each gate has an inner gate of a kind (otherwise, all of them move).
    func edges(_ outer: [Entry], outsideOfSome kind: GateKind) -> [LintEdge] {
        outer.flatMap { gate in
            let inside = all(kind, inside: gate)
            return edges([gate], outside: inside.isEmpty ? all(kind) : inside)
        }
    }

    func all(_ kind: GateKind, inside outer: Entry) -> [Entry] {
        all(kind).filter { $0.index > outer.index && mayMeet($0, outer) }
    }

    static func passed(_ entries: [Entry]) -> [[Entry]] {
        var seen: Set<Set<[Int]>> = []
        return entries.filter { seen.insert($0.conditions).inserted }.map { innermost in
            entries.filter { $0.conditions.isSubset(of: innermost.conditions) }
        }
    }

    /// The largest product of a factor over the gates of one request, or nil if too large.
    static func product(_ entries: [Entry], _ factor: (Entry) -> Int?) -> Int? {
        var most = 0
        for passed in passed(entries) {
            var product = 1
            for entry in passed {
                guard let times = factor(entry) else { return nil }
                let (next, isBeyond) = product.multipliedReportingOverflow(by: times)
                if isBeyond { return nil }
                product = next
            }
            most = max(most, product)
        }
        return most
    }
}

extension LintSubject.Entry {
    var retries: (attempts: Int?, waits: Duration?, repeatsUnsafe: Bool)? {
        for case .retries(let attempts, let waits, let repeats) in effects {
            return (attempts, waits, repeats)
        }
        return nil
    }

    func limit(_ extent: GateTimeExtent) -> Duration? {
        for case .limitsTime(let limit, extent) in effects { return limit }
        return nil
    }

    /// The reason why the gate may delay requests, or nil; a substitute is not a delay.
    var wait: String? {
        if effects.contains(.answers(.substitute)) { return nil }
        for case .waits(_, let reason) in effects { return reason }
        return nil
    }

    /// The origins that may get the secrets of the gate.
    var secretOrigins: Set<Origin> {
        if let listed = facts?.origins { return listed.intersection(originsAround ?? listed) }
        // If the gate lists no origins but restricts a credential, only the client knows the
        // origin.
        let isUnbound = effects.contains {
            if case .setsFields(_, .secret(isBound: false, _)) = $0 { true } else { false }
        }
        return isUnbound ? originsAround ?? [] : []
    }

    /// The names of secret fields, whether only certain origins get them, and whether calls differ.
    var secrets: [(names: [HTTPHeaders.Name], isBound: Bool, variesByCall: Bool)] {
        effects.compactMap {
            guard case .setsFields(let names, .secret(let isBound, let varies)) = $0 else {
                return nil
            }
            return (names, isBound || isBoundByOrigin, varies)
        }
    }
}
