// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

// What is sent, and how often.
extension LintRule {
    static let sends: [LintRule] = [
        LintRule(
            "breaker-outside-retry", .warning, "A circuit breaker outside of the retry",
            harm: """
                The breaker sees a call and not its attempts. A server that is down gets every \
                attempt of as many calls as the breaker needs, and failures that a retry hides never \
                count.
                """,
            remedy:
                "Move the breaker inside, unless it is to open only when retries no longer help",
            source:
                "Nygard, \"Release It!\", 2018: a breaker guards each request to a remote system",
            offender: .inner,
            edges: { $0.edges(.retry, outside: .circuitBreaker) },
            story: { edge, _ in
                let attempts = edge.attempts
                return "a server that is down gets \(attempts.map(String.init) ?? "any number of")"
                    + " requests for each call until the circuit opens: the breaker stands outside of"
                    + " the retry and counts calls"
            }),
        LintRule(
            "breaker-without-attempt-timeout", .hint, "A circuit breaker that no hang opens",
            harm: """
                A call whose deadline passes says nothing about the server, so a server that accepts \
                requests and never answers leaves the circuit closed.
                """,
            remedy: "Add an attempt timeout inside the breaker",
            source: "the gate: a deadline of the caller does not count as a failure",
            check: { subject in
                subject.hasUnknown
                    ? []
                    : subject.all(.circuitBreaker).filter {
                        subject.all(.attemptTimeout, inside: $0).isEmpty
                    }.map {
                        LintDraft(
                            "a server that hangs never opens the circuit: no attempt timeout stands"
                                + " inside the breaker", $0)
                    }
            }),
        LintRule(
            "rate-limit-outside-retry", .warning, "A rate limit outside of the retry",
            harm: """
                A call takes one token, and each attempt is sent without one. A server that fails \
                gets several times the rate, when it can bear it least.
                """,
            remedy: "Move the rate limit inside, or add another one there",
            source: "the gate: placed inside a retry, it limits the requests that a server sees",
            offender: .inner,
            edges: { $0.edges($0.all(.retry), outsideOfSome: .rateLimit) },
            story: { edge, _ in
                var (limit, rate) = (0, "")
                for case .limitsRate(let count, let time) in edge.inner.effects {
                    (limit, rate) = (count, time.text)
                }
                let most = edge.attempts.flatMap { attempts -> String? in
                    let (most, isBeyond) = attempts.multipliedReportingOverflow(by: limit)
                    return isBeyond ? nil : String(most)
                }
                return "a server that fails gets \(most ?? "any number of") requests every \(rate)"
                    + " although the limit says \(limit): it stands outside of the retry and counts"
                    + " calls"
            }),
        LintRule(
            "concurrency-limit-outside-retry", .hint, "A concurrency limit outside of the retry",
            harm: """
                A call holds its permit through all its back-offs, while it sends nothing. In an \
                outage, calls that wait for their next attempt keep out those that would succeed.
                """,
            remedy: "Move the concurrency limit inside, or add another one there",
            source: "the gate: placed inside a retry, it releases the permit during a back-off",
            offender: .inner,
            edges: { $0.edges($0.all(.retry), outsideOfSome: .concurrencyLimit) },
            story: { edge, _ in
                let waits = longest(edge.others, .zero).map { "up to \($0.text)" } ?? "any time"
                return "a call keeps its permit for \(waits) in which it sends nothing: the limit"
                    + " stands outside of the retry"
            }),
        LintRule(
            "hedge-outside-retry", .warning, "A hedge outside of the retry",
            harm: """
                Each copy of a request has retries of its own, so that copies and attempts multiply. \
                A retry also keeps content before it answers, and the hedge takes that for a late \
                answer.
                """,
            remedy: "Move the hedge inside the retry",
            source: "Dean and Barroso, \"The Tail at Scale\", 2013; the gate",
            offender: .inner,
            edges: { $0.edges(.retry, outside: .hedge) },
            story: { edge, _ in
                var copies = 0
                for case .hedges(let count, _) in edge.inner.effects { copies = count }
                guard let attempts = edge.attempts, attempts < 1 << 20 else {
                    return "each of \(copies + 1) copies of a request has retries of its own"
                }
                return "a call may be sent \((copies + 1) * attempts) times: each of \(copies + 1)"
                    + " copies has \(attempts) attempts of its own"
            }),
        LintRule(
            "hedge-inside-concurrency-limit", .warning, "A hedge inside the concurrency limit",
            harm: """
                A call holds one permit while it sends several requests, so the server bears more \
                than the limit says, and most when it is slow.
                """,
            remedy: "Move the hedge outside of the limit",
            source: "the gates: a permit is held by a pass, and a copy is a pass of what is inside",
            edges: { $0.edges(.hedge, outside: .concurrencyLimit) },
            story: { edge, _ in
                var (copies, limit) = (0, 0)
                for case .hedges(let count, _) in edge.outer.effects { copies = count }
                for case .limitsConcurrency(let count?) in edge.inner.effects { limit = count }
                let (most, isBeyond) = limit.multipliedReportingOverflow(by: copies + 1)
                return
                    "a server may get \(isBeyond ? "any number of" : String(most)) requests at once"
                    + " although the limit says \(limit): the hedge stands inside it, and its copies"
                    + " take no permits"
            }),
        LintRule(
            "hedge-never", .warning, "A hedge that comes too late",
            harm: "The first request has failed by its own limit before a copy would be sent.",
            remedy: "Hedge after less than the attempt timeout",
            source: "the gate: a hedge is not a retry, and sends nothing after a failure",
            check: { subject in
                subject.all(.hedge).flatMap { hedge in
                    subject.all(.attemptTimeout, inside: hedge).compactMap { attempt in
                        for case .hedges(_, let after?) in hedge.effects {
                            guard let limit = attempt.limit(.head), after >= limit else { continue }
                            return LintDraft(
                                "no copy is ever sent: the first request ends after \(limit.text), and"
                                    + " the hedge waits \(after.text)", hedge, attempt)
                        }
                        return nil
                    }
                }
            }),
        LintRule(
            "two-retries", .hint, "Two retries around each other",
            harm: """
                Attempts multiply. An inner retry has given up for a reason, and the outer one begins \
                all of it again, in an outage most of all.
                """,
            remedy: "Leave one of them out, or let them retry different things",
            source:
                "Brooker, \"Timeouts, retries, and backoff with jitter\", AWS Builders' Library",
            check: { subject in
                subject.outermost(.retry).compactMap { outer -> LintDraft? in
                    let inside = subject.all(.retry, inside: outer)
                    guard !inside.isEmpty else { return nil }
                    guard let first = outer.retries?.attempts,
                        let second = LintSubject.product(inside, { $0.retries?.attempts }),
                        max(first, second) < 1 << 20
                    else {
                        return LintDraft("retries multiply their attempts", of: [outer] + inside)
                    }
                    return LintDraft(
                        "a call may be sent \(first * second) times: each of \(first) attempts has"
                            + " \(second) of its own", of: [outer] + inside)
                }
            }),
        LintRule(
            "sends-beyond-limit", .error, "More sends than a call may make",
            harm: """
                Retries, hedges and replays multiply. The client ends a call that is about to be sent \
                once more than the limit, with an error that hides the one of the server.
                """,
            remedy: "Make fewer attempts",
            source: "Client.sendLimit",
            check: { subject in
                let gates = subject.all(where: { $0.sends > 1 })
                let always = gates.filter(\.conditions.isEmpty)
                var most = 1
                for gate in always {
                    for effect in gate.effects {
                        most = min(most * min(effect.sends, 1 << 10), 1 << 30)
                    }
                }
                guard most > Client.sendLimit else { return [] }
                return [
                    LintDraft(
                        "a call that fails at its worst would be sent \(most) times, and ends as"
                            + " sendLimit after \(Client.sendLimit): "
                            + always.map(\.name).joined(separator: " × "), of: always)
                ]
            }),
        LintRule(
            "key-inside-retry", .warning, "An idempotency key inside the retry",
            harm: """
                The retry sees a POST without a key, and does not send it again once a server may \
                have seen it. The key is there and serves nothing.
                """,
            remedy: "Move the key outside of the retry",
            source: "draft-ietf-httpapi-idempotency-key-header; RFC 9110 §9.2.2",
            edges: { subject in
                subject.edges(
                    subject.all(where: { $0 == .identifiesRepetition }),
                    // A retry that repeats anyway finds the same key in each attempt.
                    outside: subject.all(.retry).filter { $0.retries?.repeatsUnsafe == false })
            },
            story: { edge, _ in
                "a POST that fails has one attempt and not"
                    + " \(edge.attempts.map(String.init) ?? "many"): its key is set"
                    + " inside the retry, which does not see it"
            }),
        LintRule(
            "unsafe-retry-without-key", .hint, "A retry of POST without a key",
            harm: """
                A server that has done the work and whose answer is lost does it again: a second \
                order, a second payment.
                """,
            remedy: "Add an idempotency key outside of the retry, if the server knows such keys",
            source: "RFC 9110 §9.2.2",
            check: { subject in
                let hasKey = !subject.all(where: { $0 == .identifiesRepetition }).isEmpty
                return hasKey || subject.hasUnknown
                    ? []
                    : subject.all(.retry).filter { $0.retries?.repeatsUnsafe == true }.map {
                        LintDraft(
                            "a request that has an effect may have it"
                                + " \($0.retries?.attempts.map(String.init) ?? "any number of") times:"
                                + " it is sent again without a key that tells a repetition", $0)
                    }
            }),
        LintRule(
            "fallback-hides-failures", .warning, "A substitute that hides failures",
            harm: """
                What stands outside sees an answer where there was a failure. A retry does not try \
                again, a hedge takes the substitute for the first good answer, a breaker counts a \
                success, and a cache may store it.
                """,
            remedy: "Move the fallback outside",
            source: "the gate: place it outside of all gates whose failures it covers",
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
                    + " inside \(isOne ? "it" : "them") makes an answer of each"
            }),
        LintRule(
            "fallback-inside-deadline", .hint, "A substitute that no deadline gets",
            harm: """
                A call that meets its deadline fails without the substitute, although a slow server \
                is what it is most often for.
                """,
            remedy: "Move the fallback outside of the deadline",
            source: "the gate: a deadline outside ends the call, and with it the fallback",
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

extension GateEffect {
    /// By how much the effect multiplies the sends of a call.
    fileprivate var sends: Int {
        switch self {
        case .retries(let attempts, _, _): max(attempts ?? 1 << 10, 1)
        case .hedges(let copies, _): copies > 1 << 10 ? 1 << 10 : max(copies, 0) + 1
        // Challenges come once in a call, and not with each attempt.
        default: 1
        }
    }
}
