// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

extension LintRule {
    static let caching: [LintRule] = [
        LintRule(
            "cache-inside-retry", .warning, "A cache inside the retry",
            harm: """
                After the first failure, the cache returns a stale response, by stale-if-error \
                (RFC 5861) or because the host cannot be reached. In this case, the retry does not \
                make the attempt that could get a fresh response. Every attempt also looks into \
                the store again.
                """,
            remedy: "Move the cache outside of the retry",
            source: "RFC 5861 §4; RFC 9111 §4.2.4",
            edges: { $0.edges(.cache, outside: .retry) },
            story: { edge, _ in
                "a stale response ends the call after the first failure, and none of the"
                    + " \(edge.attempts.map { String($0 - 1) } ?? "") further attempts"
                    + " is made"
            }),
        LintRule(
            "rate-limit-above-cache", .warning, "A rate limit outside of the cache",
            harm: "A stored response takes a token, or waits for a token, though nothing is sent.",
            remedy: "Move the cache outside of the limit",
            source: "documentation of RateLimit: the limit is for requests that reach the server",
            offender: .inner,
            edges: { $0.edges(.cache, outside: .rateLimit) },
            story: { edge, _ in
                var rate = ""
                for case .limitsRate(let count, let time) in edge.inner.effects {
                    rate = "\(count) every \(time.text)"
                }
                return
                    "stored responses come no faster than \(rate), although this rate is meant for"
                    + " the server"
            }),
        LintRule(
            "concurrency-limit-above-cache", .warning, "A concurrency limit outside of the cache",
            harm: "A stored response needs a permit, and waits behind calls that are sent.",
            remedy: "Move the cache outside of the limit",
            source: "documentation of ConcurrencyLimit: the limit is for requests to a server",
            offender: .inner,
            edges: { $0.edges(.cache, outside: .concurrencyLimit) },
            story: { edge, _ in
                var limit = ""
                for case .limitsConcurrency(let count?) in edge.inner.effects { limit = "\(count)" }
                return
                    "with \(limit) slow calls under way, a stored response waits for one of them to"
                    + " end"
            }),
        LintRule(
            "rate-limit-inside-concurrency-limit", .warning,
            "A rate limit inside the concurrency limit",
            harm: """
                While a call waits for its turn, it holds its permit and sends nothing. Calls that \
                could be sent at once, for instance to other origins, wait for this permit.
                """,
            remedy: "Move the rate limit outside of the concurrency limit",
            source: "documentation of ConcurrencyLimit: a call holds its permit in inner waits",
            edges: { subject in
                subject.edges(
                    subject.all(.rateLimit).filter { $0.wait != nil },
                    outside: subject.all(.concurrencyLimit))
            },
            story: { edge, _ in
                var permits = 0
                for case .limitsConcurrency(let count?) in edge.inner.effects { permits = count }
                let waits = edge.outer.effects.lazy.compactMap { effect -> Duration? in
                    if case .waits(let most, _) = effect { most } else { nil }
                }
                return "a call holds its permit while it waits for \(edge.outer.wait ?? ""), for"
                    + " \(waits.first.map { "up to \($0.text)" } ?? "any time") in which it sends nothing;"
                    + " \(permits) such calls keep out all others"
            }),
        LintRule(
            "limit-above-coalesce", .warning, "A limit outside of a gate that shares exchanges",
            harm: """
                Each call that waits for a shared exchange takes a token and holds a permit. So \
                other calls wait, although the server has little to do.
                """,
            remedy: "Move the gate that shares exchanges outside of the limit",
            source: "documentation of Coalesce: the gate stands outside of gates that count calls",
            offender: .inner,
            edges: { subject in
                subject.edges(
                    subject.all(.coalesce),
                    outside: subject.all(.concurrencyLimit) + subject.all(.rateLimit))
            },
            story: { edge, _ in
                var limit: Int?
                for case .limitsConcurrency(let count?) in edge.inner.effects { limit = count }
                return limit.map {
                    "\($0) identical calls hold all \($0) permits while one request is under way"
                } ?? "identical calls take a token each, although only one request is sent"
            }),
        LintRule(
            "identity-inside-sharing", .error,
            "A user's credential inside a gate that shares responses",
            harm: """
                The gate that shares or stores responses does not see for whom a call is made, \
                because the credential is set further inside. Requests of two users look the same, \
                and one user gets the response of the other.
                """,
            remedy: "Move the credential outside of the gate that shares or stores responses",
            source: "RFC 9111 §7.3; RFC 9110 §17.12",
            edges: { subject in
                subject.edges(
                    subject.entries.filter { $0.secrets.contains { $0.variesByCall } },
                    outside: (subject.all(.coalesce) + subject.all(.cache)).filter {
                        $0.facts?.knowsCaller == false
                    })
            },
            story: { edge, _ in
                let names = edge.outer.secrets.flatMap(\.names).map(\.rawValue)
                let verb = edge.others.count == 1 ? "sees" : "see"
                return "a user may get another user's response: \(edge.names) \(verb) requests"
                    + " before \(edge.outer.name), which stands inside, adds"
                    + " \(names.joined(separator: ", "))"
            }),
        LintRule(
            "cache-without-partition", .error, "A cache whose partition has no name",
            harm: """
                Other services and accounts may use the same store. Credentials that are added \
                inside of the cache, or by the transport, are not part of the key of a response. \
                So the cache stores nothing until a partition names the owner of the responses.
                """,
            remedy: "Name the partition after the service and the account that it uses",
            source: "RFC 9111 §7.3; documentation of Cache: a partition separates owners",
            check: { subject in
                subject.entries.filter { $0.facts?.lacksPartition ?? false }.map {
                    LintDraft(
                        "\($0.name) stores nothing: the name of its partition is empty", $0)
                }
            }),
        LintRule(
            "cookies-inside-cache", .error, "Cookies inside the cache",
            harm: """
                The cache does not see the cookies. After a sign-out, or a sign-in as another \
                user, the cache still returns private responses of the earlier session.
                """,
            remedy: "Move the cookies outside of the cache",
            source: "RFC 9111 §7.3; documentation of Cache: cookies identify the user",
            edges: { subject in
                subject.edges(
                    subject.all(.cookies),
                    outside: subject.all(.cache).filter { $0.facts?.knowsCaller == false })
            },
            story: { edge, _ in
                "after a sign-in as another user, the earlier user's private responses are still served:"
                    + " \(edge.inner.name) looks them up before \(edge.outer.name) adds the cookies"
            }),
    ]
}

extension LintRule {
    static let sharing: [LintRule] = [
        LintRule(
            "store-limit-near-timeout", .warning, "A store that may use up a time limit",
            harm: """
                If the store of shared state does not answer, a call waits up to the time limit of \
                the store, and then continues with local state. The wait counts toward the limits \
                around the gate. With a slow store, calls therefore fail although the server would answer.
                """,
            remedy: "Lower the time limit of the store to a tenth of the limit around the gate",
            source: "documentation of SharedRateLimit: after this wait, the limit decides locally",
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
            "shared-secrets-readable", .warning, "Unencrypted secrets on the way to a store",
            harm: """
                Anyone who can read the traffic between a replica and the store gets the tokens \
                that the gate keeps there, and with them the rights of the account.
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
            "local-limit-beside-shared-state", .hint, "A separate rate limit in each replica",
            harm: """
                The replicas share other state, but each replica has its own rate limit. Ten \
                replicas together send ten times as many requests as one limit allows.
                """,
            remedy: "If the replicas have one quota together, let the limit use the shared state",
            source: "documentation of RateLimit: the limit counts the calls of its own process",
            check: { subject in
                let limits = subject.all(.rateLimit)
                guard let sharing = subject.entries.first(where: { $0.storeWait != nil }),
                    limits.allSatisfy({ $0.storeWait == nil })
                else { return [] }
                return limits.map {
                    LintDraft(
                        "each replica has the limit of \($0.name) for itself, although the"
                            + " replicas share the state of \(sharing.name)", sharing, $0)
                }
            }),
        LintRule(
            "quota-drawn-twice", .hint, "Two limits that draw on one quota",
            harm: """
                Limits with the same name and rules have one quota in the shared state. A request \
                that passes both limits takes its permits twice, so the service uses only half of \
                its quota.
                """,
            remedy: "Give each limit a name of its own, or remove one of them",
            source: "documentation of SharedRateLimit: limits with the same name share one quota",
            check: { subject in
                subject.entries.flatMap { inner in
                    subject.entries.filter {
                        $0.index < inner.index && subject.mayMeet($0, inner)
                            && !$0.quotas.isDisjoint(with: inner.quotas)
                    }.map {
                        LintDraft(
                            "each request takes permits of one quota twice: in \($0.name) and in"
                                + " \(inner.name), which have the same name", $0, inner)
                    }
                }
            }),
    ]
}

extension LintSubject.Entry {
    fileprivate var quotas: Set<String> { facts?.sharedQuotas ?? [] }

    /// The longest wait of the gate for a store, for one request; nil if the gate uses no store.
    fileprivate var storeWait: Duration? {
        var sum: Duration?
        for case .sharesState(_, _, let wait) in effects {
            sum = (sum ?? .zero) + min(max(wait, .zero), .seconds(1 << 40))
        }
        return sum
    }
}
