// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

// Rules about requests that are sent twice, and about substitutes for a response.
extension LintRule {
    static let repetitions: [LintRule] = [
        LintRule(
            "key-inside-retry", .warning, "An idempotency key inside the retry",
            harm: """
                The retry sees a POST without a key. Therefore the retry does not send the POST \
                again if a server may have seen it, and the key has no effect.
                """,
            remedy: "Move the key outside of the retry",
            source: "draft-ietf-httpapi-idempotency-key-header; RFC 9110 §9.2.2",
            edges: { subject in
                subject.edges(
                    subject.all(where: { $0 == .identifiesRepetition }),
                    // If a retry gate repeats POSTs in any case, each attempt has the same key.
                    outside: subject.all(.retry).filter { $0.retries?.repeatsUnsafe == false })
            },
            story: { edge, _ in
                "a POST that fails has one attempt and not"
                    + " \(edge.attempts.map(String.init) ?? "many"): the retry"
                    + " does not see the key, which is set inside of it"
            }),
        LintRule(
            "fixed-idempotency-key", .error, "One idempotency key for all calls",
            harm: """
                A server takes each later request for a repetition of the first request. So the \
                server performs only the first request, and answers all with the first response.
                """,
            remedy: "Leave the field out, and add a gate that makes a key for each call",
            source: "draft-ietf-httpapi-idempotency-key-header §2.2: a key is unique",
            check: { subject in
                let names = subject.all(where: { $0 == .identifiesRepetition }).flatMap(\.fields)
                return subject.entries.compactMap { entry in
                    let fixed = ([.idempotencyKey] + names).first {
                        entry.facts?.fields.contains($0) == true
                    }
                    return fixed.map {
                        LintDraft(
                            "\(entry.name) sets the same \($0.rawValue) on all calls, and a server"
                                + " performs only the first call", entry)
                    }
                }
            }),
        LintRule(
            "unsafe-retry-without-key", .hint, "A retry of POST without a key",
            harm: """
                If a server has done the work but its answer is lost, the server does the work \
                again: it makes a second payment, for example.
                """,
            remedy: "Add an idempotency key outside of the retry, if the server knows such keys",
            source: "RFC 9110 §9.2.2",
            check: { subject in
                let hasKey = !subject.all(where: { $0 == .identifiesRepetition }).isEmpty
                return hasKey || subject.hasUnknown
                    ? []
                    : subject.all(.retry).filter { $0.retries?.repeatsUnsafe == true }.map {
                        LintDraft(
                            "a request may have its effect"
                                + " \($0.retries?.attempts.map(String.init) ?? "any number of") times:"
                                + " it is sent again without a key that marks a repetition", $0)
                    }
            }),
        LintRule(
            "fallback-hides-failures", .warning, "A substitute that hides failures",
            harm: """
                The gates outside see an answer instead of a failure. A retry does not try again, \
                a hedge takes the substitute as the first good answer, a breaker counts a success, \
                and a cache may store the substitute.
                """,
            remedy: "Move the fallback outside of these gates",
            source: "documentation of Fallback: the gates whose failures it covers are inside",
            edges: { subject in
                subject.edges(
                    subject.all(where: { $0 == .answers(.substitute) }),
                    outside: subject.entries.filter {
                        !$0.kinds.isDisjoint(with: [.retry, .hedge, .circuitBreaker, .cache])
                    })
            },
            story: { edge, _ in
                let isOne = edge.others.count == 1
                return "\(edge.names) never \(isOne ? "sees" : "see") a failure: \(edge.outer.name)"
                    + " inside \(isOne ? "it" : "them") turns each failure into an answer"
            }),
        LintRule(
            "fallback-inside-deadline", .hint, "A substitute that does not cover the deadline",
            harm: """
                If the deadline of a call passes, the call fails without the substitute, although \
                most substitutes are meant for slow servers.
                """,
            remedy: "Move the fallback outside of the deadline",
            source: "documentation of Fallback: an outer deadline ends the fallback too",
            edges: { subject in
                subject.edges(
                    subject.all(where: { $0 == .answers(.substitute) }),
                    outside: subject.outermost(.deadline))
            },
            story: { edge, _ in
                "a call that is slower than \(edge.inner.limit(.body)?.text ?? "") gets an error and no"
                    + " substitute"
            }),
    ]
}

extension LintSubject.Entry {
    fileprivate var fields: [HTTPHeaders.Name] {
        effects.flatMap { effect -> [HTTPHeaders.Name] in
            if case .setsFields(let names, _) = effect { names } else { [] }
        }
    }
}
