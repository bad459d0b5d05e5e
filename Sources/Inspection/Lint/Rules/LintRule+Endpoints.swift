// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

extension LintRule {
    static let endpoints: [LintRule] = [
        LintRule(
            "endpoints-without-retry", .hint, "Endpoints without a retry",
            harm: """
                A request to a broken endpoint fails for the caller, although the other endpoints \
                work. With ten endpoints, one of ten calls fails until the endpoint is ejected.
                """,
            remedy: "Add a retry outside: a retry avoids endpoints that the call has tried",
            source: "gRPC A50: an endpoint is ejected only after calls to it have failed",
            check: { subject in
                subject.all(.endpoints, without: .retry).map {
                    LintDraft(
                        "a call that meets a broken endpoint of \($0.services) fails, although"
                            + " other endpoints work: no gate sends the call again", $0)
                }
            }),
        LintRule(
            "endpoints-without-attempt-timeout", .hint,
            "Endpoints that stay in use although they hang",
            harm: """
                A call whose deadline passes does not count against its endpoint. So an endpoint \
                that accepts requests and never answers stays in use, and holds each of its calls \
                until the deadline.
                """,
            remedy: "Add an attempt timeout inside of the retry",
            source: "documentation of Endpoints: a deadline does not count as a failure",
            check: { subject in
                subject.all(.endpoints, without: .attemptTimeout).map {
                    LintDraft(
                        "an endpoint of \($0.services) that hangs is never ejected, and each call to"
                            + " it lasts until the deadline: there is no attempt timeout", $0
                    )
                }
            }),
        LintRule(
            "wait-inside-endpoints", .warning, "A wait after the choice of an endpoint",
            harm: """
                The endpoint is chosen before the wait. After the wait, the endpoint may be busy, \
                ejected, or gone. Requests that wait count as running at the endpoint, and their \
                waits count as its latency.
                """,
            remedy: "Move the endpoints inside, next to the transport",
            source: "documentation of Endpoints: a choice is right only for the moment",
            edges: { subject in
                subject.edges(
                    subject.entries.filter {
                        $0.wait != nil
                            && !$0.kinds.isDisjoint(
                                with: [.rateLimit, .concurrencyLimit, .authentication])
                    }, outside: subject.all(.endpoints))
            },
            story: { edge, _ in
                "a request has its endpoint before it waits for \(edge.outer.wait ?? ""), and the wait"
                    + " counts as the latency of that endpoint"
            }),
        LintRule(
            "answer-inside-endpoints", .warning, "An answer that no endpoint has given",
            harm: """
                A stored, shared or substitute response counts as an answer of the chosen \
                endpoint. This quick success draws more requests to the endpoint, and hides \
                its failures.
                """,
            remedy: "Move the endpoints inside, next to the transport",
            source: "documentation of Endpoints: responses of inner gates count for the endpoint",
            edges: { subject in
                subject.edges(
                    subject.entries.filter {
                        $0.effects.contains {
                            switch $0 {
                            case .answers(.stored), .answers(.shared), .answers(.substitute): true
                            default: false
                            }
                        }
                    }, outside: subject.all(.endpoints))
            },
            story: { edge, _ in
                "an answer of \(edge.outer.name) counts as a quick success of an endpoint that has"
                    + " seen no request"
            }),
        LintRule(
            "endpoints-twice", .warning, "Two choices of an endpoint for one host",
            harm: """
                The inner gate passes on each request that already has an endpoint, so its list, \
                its rule and its checks have no effect.
                """,
            remedy: "Keep only one of the two gates",
            source: "documentation of Endpoints: the gate keeps a connect target that is set",
            check: { subject in
                let gates = subject.all(.endpoints)
                return gates.compactMap { inner -> LintDraft? in
                    let outer = gates.filter {
                        $0.index < inner.index && subject.mayMeet($0, inner)
                            && !$0.hosts.isDisjoint(with: inner.hosts)
                    }
                    guard !outer.isEmpty else { return nil }
                    return LintDraft(
                        "\(inner.name) never chooses an endpoint of \(inner.services): a gate outside"
                            + " of it has chosen one", of: outer + [inner])
                }
            }),
    ]
}

extension LintSubject.Entry {
    fileprivate var hosts: Set<String> {
        Set(
            effects.compactMap {
                if case .choosesEndpoint(let host) = $0 { host } else { nil }
            })
    }

    fileprivate var services: String { hosts.sorted().joined(separator: ", ") }
}
