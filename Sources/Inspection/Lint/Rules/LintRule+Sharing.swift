// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

// State that replicas share.
extension LintRule {
    static let sharing: [LintRule] = [
        LintRule(
            "store-limit-near-timeout", .warning, "A store that may use up a time limit",
            harm: """
                While the store of shared state does not answer, a call waits for it up to the time \
                limit of the store, and then goes on locally. That wait counts toward the limits \
                around the gate: a store that is slow makes calls fail that the server would answer.
                """,
            remedy: "Lower the time limit of the shared state, to a tenth of the limit around it",
            source: "the gate: it goes on locally after the time limit of its shared state",
            check: { subject in
                subject.entries.flatMap { outer -> [LintDraft] in
                    guard let limit = outer.limit(.head) ?? outer.limit(.body) else { return [] }
                    let asking = subject.entries.filter {
                        $0.index > outer.index && subject.mayMeet(outer, $0) && $0.storeWait != nil
                    }
                    return LintSubject.passed(asking).compactMap { gates in
                        let wait = gates.reduce(Duration.zero) {
                            $0 + min($1.storeWait ?? .zero, .seconds(1 << 40))
                        }
                        guard wait > limit / 4 else { return nil }
                        return LintDraft(
                            "a store that does not answer takes \(wait.text) of the"
                                + " \(limit.text) of \(outer.name) before anything is sent",
                            of: [outer] + gates)
                    }
                }
            }),
        LintRule(
            "shared-secrets-readable", .warning, "Secrets on the way to a store, unencrypted",
            harm: """
                Who can read the traffic between a replica and the store has the tokens that the \
                gate keeps there, and with them the rights of the account.
                """,
            remedy: "Reach the store over TLS (rediss://), or by a socket on the same machine",
            source: "RFC 9700 §4.10: access tokens are sent and stored so that nobody else can"
                + " read them",
            check: { subject in
                subject.entries.filter { gate in
                    gate.effects.contains {
                        if case .sharesState(.secrets, false, _) = $0 { true } else { false }
                    }
                }.map {
                    LintDraft(
                        "\($0.name) keeps secrets in a store that it reaches without encryption", $0
                    )
                }
            }),
        LintRule(
            "local-limit-beside-shared-state", .hint, "A rate limit of each replica's own",
            harm: """
                The replicas share other state, but each has this limit for itself. Together they \
                send as many times the rate as there are replicas.
                """,
            remedy: "Give the limit the shared state, if the quota is one for all replicas",
            source: "the gate: a limit without shared state counts the calls of its process",
            check: { subject in
                let limits = subject.all(.rateLimit)
                guard let sharing = subject.entries.first(where: { $0.storeWait != nil }),
                    limits.allSatisfy({ $0.storeWait == nil })
                else { return [] }
                return limits.map {
                    LintDraft(
                        "each replica has the limit of \($0.name) for itself, although they share the"
                            + " state of \(sharing.name)", sharing, $0)
                }
            }),
        LintRule(
            "quota-drawn-twice", .hint, "Two limits that draw on one quota",
            harm: """
                Limits with the same name and rules have one quota in the shared state. A request that \
                passes both takes its permits twice, so the service uses half of what it may.
                """,
            remedy: "Give each limit a name of its own, or remove one of them",
            source: "the gate: the name of a shared quota tells which limits share it",
            check: { subject in
                subject.entries.flatMap { inner in
                    subject.entries.filter {
                        $0.index < inner.index && subject.mayMeet($0, inner)
                            && !$0.quotas.isDisjoint(with: inner.quotas)
                    }.map {
                        LintDraft(
                            "each request takes permits of one quota twice: in \($0.name) and in"
                                + " \(inner.name), which are named alike", $0, inner)
                    }
                }
            }),
    ]
}

extension LintSubject.Entry {
    fileprivate var quotas: Set<String> { facts?.sharedQuotas ?? [] }

    /// The longest time for which it waits for a store in one pass; nil if it asks none.
    fileprivate var storeWait: Duration? {
        var sum: Duration?
        for case .sharesState(_, _, let wait) in effects {
            sum = (sum ?? .zero) + min(max(wait, .zero), .seconds(1 << 40))
        }
        return sum
    }
}
