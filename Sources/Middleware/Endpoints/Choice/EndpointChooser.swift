// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// Chooses members of sets by one rule, and keeps what the rule remembers from one set to the next.
final class EndpointChooser: Sendable {
    private let choice: EndpointChoice
    // Each side has its own order, so that a share of one does not make gaps in the other.
    private let own: EndpointSequence
    private let others: EndpointSequence

    /// Creates a chooser that goes on where another one is, if there is one.
    init(_ choice: EndpointChoice, continuing old: EndpointChooser? = nil) {
        self.choice = choice
        own = old?.own ?? EndpointSequence()
        others = old?.others ?? EndpointSequence()
    }

    /// Chooses a usable member for a request, without taking memory.
    /// - Parameters:
    ///   - set: The members.
    ///   - request: The request, for the key of a hash.
    ///   - now: The time.
    ///   - bits: 64 random bits; equal ones make equal choices.
    ///   - tried: What the call has tried; it is avoided while another usable member is left.
    /// - Returns: The member and why it was chosen; nil if no member is usable.
    func choose(
        from set: EndpointSet, for request: Request, at now: MonotonicInstant, bits: UInt64,
        avoiding tried: TriedEndpoints = TriedEndpoints()
    ) -> EndpointPick? {
        var turn = EndpointTurn(choice, request, at: now, bits: bits, tried: tried)
        if let pick = choose(from: set, &turn) { return pick }
        guard tried.count > 0 else { return nil }
        turn = EndpointTurn(choice, request, at: now, bits: bits, tried: TriedEndpoints())
        let pick = choose(from: set, &turn)
        return pick.map { EndpointPick(member: $0.member, reason: .allTried) }
    }

    private func choose(from set: EndpointSet, _ turn: inout EndpointTurn) -> EndpointPick? {
        let isOwn = turn.isWithin(set.ownShare)
        return choose(from: set, &turn, isOwn: isOwn) ?? choose(from: set, &turn, isOwn: !isOwn)
    }

    private func choose(
        from set: EndpointSet, _ turn: inout EndpointTurn, isOwn: Bool
    ) -> EndpointPick? {
        let member =
            isOwn ? set.own.choose(&turn, in: own) : set.others.choose(&turn, in: others)
        return member.map { EndpointPick(member: $0, reason: isOwn ? .rule : .otherZone) }
    }
}

/// A member that was chosen, and why.
struct EndpointPick: Sendable {
    enum Reason: Sendable {
        /// The rule chose it, in the own zone if there is one.
        case rule
        /// The rule chose it in another zone.
        case otherZone
        /// The call had tried all usable members before.
        case allTried
    }

    let member: EndpointMember
    let reason: Reason
}
