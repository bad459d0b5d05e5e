// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

struct StackReading {
    // The extent to which outer gates may have changed the request before the next gate.
    private enum Change: Comparable {
        case none
        case fields
        case anything
    }

    struct Skip {
        let reason: String
        /// Whether an outer gate may change the request, and the group then applies.
        let mayChange: Bool
    }

    private var change = Change.none
    private var isRepeated = false
    private var isReplayed = false
    private var isRedirected = false
    private var isUnknown = false
    private var isDecidedByRetry = false
    private var seen: HTTPHeaders = [:]
    private var reached: Request?
    private(set) var places: [String] = []

    /// Whether a request may be sent again after the end of its reused connection, because the
    /// request may be repeatable and no retry gate decides.
    var mayResend: Bool {
        !isDecidedByRetry && (change != .none || reached?.isRepeatable != false)
    }

    mutating func read(
        _ gates: [any Gate], _ request: Request, at prefix: String, skipped: Skip? = nil
    ) -> ([GateExplanation], [WorstCase.Part]) {
        if reached == nil { reached = request }
        var explanations: [GateExplanation] = []
        var parts: [WorstCase.Part] = []
        for (index, gate) in gates.enumerated() {
            let place = prefix + String(index + 1)
            let (explanation, part) = read(gate, request, at: place, skipped: skipped)
            explanations.append(explanation)
            if let part { parts.append(part) }
        }
        return (explanations, parts)
    }

    private mutating func read(
        _ gate: any Gate, _ request: Request, at place: String, skipped: Skip?
    ) -> (GateExplanation, WorstCase.Part?) {
        let number = places.count
        places.append(place)
        let facts = gate.facts(for: reaching(request))
        let isChanged = change == .anything
        let runs = runs
        let group = gate as? any GateGroup
        var status = GateExplanation.Status.applies
        if let skipped {
            status = .skipped(skipped.reason)
        } else if let reason = facts?.passedOver {
            status = .passedOver(reason)
        } else if facts == nil, group == nil {
            status = .unknown
        }
        // A condition may depend on values of fields, which are known only during a call.
        let mayChange =
            skipped.map(\.mayChange)
            ?? (group == nil ? isChanged || isUnsure(gate, facts, request) : change != .none)
        let isOut = skipped?.mayChange == false
        let part: WorstCase.Part?
        var inner: [GateExplanation] = []
        if let group {
            let isPassed = facts?.passedOver == nil
            let reason =
                skipped ?? facts?.passedOver.map { Skip(reason: $0, mayChange: mayChange) }
            let parts: [WorstCase.Part]
            (inner, parts) = read(group.gates, request, at: place + ".", skipped: reason)
            // A group without facts may apply or not.
            let isCertain =
                facts.map { !$0.appliesByLot && ($0.isUnconditional || isPassed && !mayChange) }
                ?? false
            part =
                isOut || !isPassed && !mayChange
                ? nil : .group(number: number, isCertain: isCertain, parts: parts)
        } else {
            part =
                isOut
                ? nil : .gate(number: number, variants: variants(gate, facts, request))
            if !isOut { note(gate, facts, isActive: facts?.passedOver == nil || mayChange) }
            // A gate that some requests skip does not decide about the repetition of all requests.
            if skipped == nil, !prefixed(place) { noteRetry(gate, request) }
        }
        let explanation = GateExplanation(
            place: place, name: gate.gateName, runs: runs, status: status,
            mayChange: mayChange && facts?.isUnconditional != true, summary: facts?.summary,
            effects: facts?.effects ?? [], fields: Self.shown(facts), gates: inner)
        return (explanation, part)
    }

    private func prefixed(_ place: String) -> Bool { place.contains(".") }

    // The requests include requests that a redirect or an adapter has changed.
    private mutating func noteRetry(_ gate: any Gate, _ request: Request) {
        guard let retrier = gate as? any RequestRetrier else { return }
        let request = reaching(request)
        var changed = request
        changed.method = .get
        isDecidedByRetry =
            isDecidedByRetry
            || retrier.decidesResend(of: request)
                && (change < .anything || retrier.decidesResend(of: changed))
    }

    private func reaching(_ request: Request) -> Request { reached ?? request }

    private mutating func see(_ name: HTTPHeaders.Name, _ value: String) {
        if seen.contains(name) { return }
        seen.append(name, value)
        if reached?.headers.contains(name) == false { reached?.headers.append(name, value) }
    }

    // An outer gate may set a field only sometimes, for example after a challenge.
    private func isUnsure(_ gate: any Gate, _ facts: GateFacts?, _ request: Request) -> Bool {
        guard !seen.isEmpty, let facts, let bare = gate.facts(for: request) else { return false }
        return facts.effects != bare.effects || facts.passedOver != bare.passedOver
    }

    // Returns the ways in which the gate may act on its requests. A redirect or an adapter may have
    // changed the request into a GET. More gates repeat a GET than any other request.
    private func variants(
        _ gate: any Gate, _ facts: GateFacts?, _ request: Request
    ) -> [WorstCase.Variant] {
        guard let facts else { return [.unknown(Self.role(of: gate))] }
        if change < .anything {
            return [facts, isUnsure(gate, facts, request) ? gate.facts(for: request) : nil]
                .compactMap { facts in
                    facts.map { $0.passedOver == nil ? .effects($0.effects) : .nothing }
                }
        }
        var changed = reaching(request)
        changed.method = .get
        changed.body = .empty
        let others = gate.facts(for: changed)
        return [.effects(facts.effects)] + (others.map { [.effects($0.effects)] } ?? [])
            + (facts.passedOver == nil && others?.passedOver == nil ? [] : [.nothing])
    }

    // The outer gates decide which requests reach the inner gates, and how often.
    private mutating func note(_ gate: any Gate, _ facts: GateFacts?, isActive: Bool) {
        guard let facts else {
            switch Self.role(of: gate) {
            case .interceptor:
                (change, isUnknown) = (.anything, true)
            case .retrier: isUnknown = true
            case .waiting, .passive: if gate is any RequestAdapter { change = .anything }
            }
            return
        }
        if !isActive { return }
        for field in facts.fields { see(field.name, field.value) }
        for effect in facts.effects { note(effect) }
    }

    private mutating func note(_ effect: GateEffect) {
        switch effect {
        case .retries(let attempts, _, _) where attempts != 1: isRepeated = true
        case .hedges(let copies, _) where copies > 0: isRepeated = true
        case .replays(let times) where times > 0: isReplayed = true
        case .redirects(let hops) where hops > 0:
            (isRedirected, change) = (true, .anything)
        case .changesContent, .upgradesScheme: change = .anything
        case .keepsCookies, .identifiesRepetition, .stampsTime: change = max(change, .fields)
        case .setsFields(let names, _):
            change = max(change, .fields)
            for name in names { see(name, Redaction.mark) }
        default: break
        }
    }

    private var runs: GateRuns {
        if isUnknown { return .unknown }
        return switch (isRepeated, isRedirected) {
        case (false, false): isReplayed ? .perCallAndReplay : .perCall
        case (true, false): isReplayed ? .perAttemptAndReplay : .perAttempt
        case (false, true): isReplayed ? .perHopAndReplay : .perHop
        case (true, true): isReplayed ? .perAttemptOfHopAndReplay : .perAttemptOfHop
        }
    }

    private static func role(of gate: any Gate) -> WorstCase.Role {
        if gate is any Interceptor { return .interceptor }
        if gate is any RequestRetrier { return .retrier }
        if gate is any ResponseValidator { return .waiting }
        if gate is any SynchronousRequestAdapter { return .passive }
        return gate is any RequestAdapter ? .waiting : .passive
    }

    private static func shown(_ facts: GateFacts?) -> [(name: String, value: String)] {
        guard let facts else { return [] }
        var shown: [(name: String, value: String)] = []
        var secrets: Set<HTTPHeaders.Name> = []
        var names: [HTTPHeaders.Name] = []
        for case .setsFields(let set, let content) in facts.effects {
            names += set
            if case .secret = content { secrets.formUnion(set) }
        }
        for field in facts.fields {
            let isSecret = secrets.contains(field.name)
            shown.append(
                (
                    field.name.description,
                    isSecret ? Redaction.mark : Redaction.standard.value(of: field)
                ))
        }
        for name in names where !facts.fields.contains(name) {
            let isSecret = secrets.contains(name) || Redaction.standard.hides(header: name)
            shown.append((name.description, isSecret ? Redaction.mark : ""))
        }
        return shown
    }
}

extension GateFacts {
    fileprivate var isUnconditional: Bool {
        let selects = effects.contains { if case .selects = $0 { true } else { false } }
        return !selects && passedOver == nil
    }
}
