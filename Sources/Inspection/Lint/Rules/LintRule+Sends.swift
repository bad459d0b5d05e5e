// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

extension LintRule {
    static let sends: [LintRule] = [
        LintRule(
            "breaker-outside-retry", .warning, "A circuit breaker outside of the retry",
            harm: """
                The breaker sees calls, not their attempts. Until enough calls have failed, a \
                server that is down gets every attempt of each call. Failures that a retry hides \
                never count.
                """,
            remedy: "Move the breaker inside, unless it should open only if retries do not help",
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
            "breaker-without-attempt-timeout", .hint, "A breaker without an attempt timeout",
            harm: """
                A call whose deadline passes does not count against the server. So if a server \
                accepts requests and never answers, the circuit stays closed.
                """,
            remedy: "Add an attempt timeout inside the breaker",
            source: "documentation of CircuitBreaker: a deadline does not count as a failure",
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
                A call takes one token, and each further attempt is sent without a token. So a \
                server that fails gets several times as many requests as the limit allows.
                """,
            remedy: "Move the rate limit inside of the retry, or add another rate limit there",
            source: "documentation of RateLimit: inside a retry, the limit counts sent requests",
            offender: .inner,
            edges: { $0.edges($0.all(.retry), outsideOfSome: .rateLimit) },
            story: { edge, _ in
                "a server that fails gets \(most(edge.attempts, of: edge.inner)): the limit stands"
                    + " outside of the retry and counts calls"
            }),
        LintRule(
            "concurrency-limit-outside-retry", .hint, "A concurrency limit outside of the retry",
            harm: """
                A call holds its permit through all its back-offs, while it sends nothing. In an \
                outage, calls that wait for their next attempt keep out calls that would succeed.
                """,
            remedy: "Move the concurrency limit inside of the retry, or add another limit there",
            source: "documentation of ConcurrencyLimit: in a retry, back-offs hold no permit",
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
                Each copy of a request has retries of its own, and copies and attempts multiply. A \
                retry also reads the content before the return of the response, and the hedge \
                treats the response as late.
                """,
            remedy: "Move the hedge inside the retry",
            source: "Dean and Barroso, \"The Tail at Scale\", 2013; documentation of Hedge",
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
                A call holds one permit for several requests. The server therefore gets more \
                requests than the limit says, above all when the server is slow.
                """,
            remedy: "Move the hedge outside of the limit",
            source: "documentation of Hedge: a copy passes only the gates inside of the hedge",
            edges: { $0.edges(.hedge, outside: .concurrencyLimit) },
            story: { edge, _ in
                var (copies, limit) = (0, 0)
                for case .hedges(let count, _) in edge.outer.effects { copies = count }
                for case .limitsConcurrency(let count?) in edge.inner.effects { limit = count }
                let (most, isBeyond) = limit.multipliedReportingOverflow(by: copies + 1)
                return
                    "a server may get \(isBeyond ? "any number of" : String(most)) requests at once"
                    + " although the limit says \(limit): the hedge stands inside the limit, and"
                    + " its copies take no permits"
            }),
        LintRule(
            "hedge-inside-rate-limit", .warning, "A hedge inside the rate limit",
            harm: """
                A call takes one token, and each copy is sent without a token. A slow server \
                therefore gets several times as many requests as the limit allows.
                """,
            remedy: "Move the hedge outside of the limit, or add another limit inside of it",
            source: "documentation of Hedge: a copy passes only the gates inside of the hedge",
            offender: .inner,
            edges: { $0.edges($0.all(.hedge), outsideOfSome: .rateLimit) },
            story: { edge, _ in
                let copies = LintSubject.product(edge.others) { $0.copies.map { $0 &+ 1 } }
                return
                    "a server that is slow gets \(most(copies, of: edge.inner)): the hedge stands"
                    + " inside the limit, and its copies take no tokens"
            }),
        LintRule(
            "hedge-never", .warning, "A hedge that comes too late",
            harm: "The attempt timeout ends the first request before a copy would be sent.",
            remedy: "Let the hedge wait for less time than the attempt timeout",
            source: "documentation of Hedge: a hedge sends nothing after a failure",
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
                Attempts multiply. An inner retry gives up for a reason, but the outer retry then \
                repeats all inner attempts, above all in an outage.
                """,
            remedy: "Remove one of the two retries, or let them retry different outcomes",
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
                            + " \(second) attempts of its own", of: [outer] + inside)
                }
            }),
        LintRule(
            "sends-beyond-limit", .error, "More sends than a call may make",
            harm: """
                Retries, hedges and replays multiply. If a call would exceed the limit of sends, \
                the client ends the call with an error that hides the error of the server.
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
                        "in the worst case, a call would be sent \(most) times; it ends with the"
                            + " error sendLimit after \(Client.sendLimit) sends: "
                            + always.map(\.name).joined(separator: " × "), of: always)
                ]
            }),
    ]

    /// The maximum requests of a server in the period of a limit, as a multiple of the limit.
    private static func most(_ times: Int?, of limit: LintSubject.Entry) -> String {
        var (count, period) = (0, "")
        for case .limitsRate(let limit, let time) in limit.effects {
            (count, period) = (limit, time.text)
        }
        let product = times.flatMap { times -> String? in
            let (most, isBeyond) = times.multipliedReportingOverflow(by: count)
            return isBeyond ? nil : String(most)
        }
        return "\(product ?? "any number of") requests every \(period) although the limit says"
            + " \(count)"
    }
}

extension LintSubject.Entry {
    fileprivate var copies: Int? {
        for case .hedges(let copies, _) in effects {
            return copies < 1 << 20 ? max(copies, 0) : nil
        }
        return 0
    }
}

extension GateEffect {
    fileprivate var sends: Int {
        switch self {
        case .retries(let attempts, _, _): max(attempts ?? 1 << 10, 1)
        case .hedges(let copies, _): copies > 1 << 10 ? 1 << 10 : max(copies, 0) + 1
        // Replays after a challenge count once for each call, not once for each attempt.
        default: 1
        }
    }
}
