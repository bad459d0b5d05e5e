// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

extension LintRule {
    static let time: [LintRule] = [
        LintRule(
            "deadline-inside-retry", .error, "A deadline inside a retry",
            harm: """
                Each attempt has the whole deadline, and the waits between attempts have no limit. \
                A call may take several times as long as the deadline says. Also, if the deadline \
                ends an attempt, no further attempt follows, because a deadline ends the whole call.
                """,
            remedy: "Move the deadline outside, and limit attempts by an attempt timeout",
            source: "gRPC, \"Deadlines\": a deadline covers a call with all its attempts",
            edges: { $0.edges($0.outermost(.deadline), outside: $0.all(.retry)) },
            story: { edge, _ in
                let limit = edge.outer.limit(.body) ?? .zero
                let total = longest(edge.others, limit)?.text ?? "any time"
                return "a call may take \(total) although the deadline says \(limit.text): the"
                    + " deadline stands inside the retry, and each attempt has its own deadline"
            }),
        LintRule(
            "deadline-inside-redirect", .error, "A deadline inside a redirect",
            harm: """
                Each hop begins with the whole deadline, and a server that redirects keeps the \
                caller waiting for one deadline per hop.
                """,
            remedy: "Move the deadline outside of the redirect",
            source: "documentation of Deadline: one deadline around a redirect covers all hops",
            edges: { $0.edges($0.outermost(.deadline), outside: $0.all(.redirect)) },
            story: { edge, _ in
                let limit = edge.outer.limit(.body) ?? .zero
                let hops = edge.requests
                let total = hops.flatMap { times(limit, $0)?.text } ?? "any time"
                let each = hops.map { "each of \($0) hops" } ?? "each hop"
                return "a call may take \(total) although the deadline says \(limit.text): the"
                    + " deadline stands inside the redirect, and \(each) has its own"
            }),
        LintRule(
            "deadline-inside-wait", .warning, "A deadline inside a gate that waits",
            harm: """
                The time that a call waits in line, or for a token, does not count toward the \
                deadline. A call whose turn would come too late is not refused, but waits.
                """,
            remedy: "Move the deadline outside of the gate that waits",
            source: "Dean and Barroso, \"The Tail at Scale\", 2013: queues dominate the tail",
            edges: { subject in
                subject.edges(
                    subject.outermost(.deadline),
                    outside: subject.entries.filter {
                        $0.wait != nil && $0.kinds.isDisjoint(with: [.retry, .redirect])
                    })
            },
            story: { edge, _ in
                let limit = edge.outer.limit(.body) ?? .zero
                var most: Duration?
                for case .waits(let wait?, _) in edge.inner.effects { most = wait }
                return "a call waits \(most.map { "up to " + $0.text } ?? "without limit") for"
                    + " \(edge.inner.wait ?? "") before its deadline of \(limit.text) begins"
            }),
        LintRule(
            "deadline-missing", .warning, "No deadline",
            harm: """
                If each part of a call is in time, nothing ends the call: hops, attempts, waits \
                and a slow body add up without a bound.
                """,
            remedy: "Add a deadline outside of all gates but logs and fallbacks",
            source: "gRPC, \"Deadlines\": always set one",
            check: { subject in
                guard subject.all(.deadline).isEmpty, !subject.hasUnknown else { return [] }
                let waits = subject.all(where: {
                    switch $0 {
                    case .retries, .redirects, .waits: true
                    default: false
                    }
                })
                guard !waits.isEmpty else {
                    return [LintDraft("nothing bounds the time of a call")]
                }
                let names = waits.map(\.name).joined(separator: ", ")
                return [
                    LintDraft(
                        "nothing bounds the time of a call: \(names) may add up", of: waits
                    )
                ]
            }),
        LintRule(
            "attempt-timeout-outside-retry", .warning, "An attempt timeout outside of the retry",
            harm: """
                The limit for one attempt covers all attempts and the waits between them. A first \
                attempt that hangs uses up this limit, and no second attempt follows. Content is \
                not buffered for a retry either, because the limit ends with the head.
                """,
            remedy: "Move the attempt timeout inside of the retry",
            source: "documentation of AttemptTimeout: an inner retry does not get the error",
            offender: .inner,
            edges: { $0.edges($0.all(.retry), outsideOfSome: .attemptTimeout) },
            story: { edge, _ in
                let limit = edge.inner.limit(.head)?.text ?? ""
                return "an attempt that hangs ends the call after \(limit), and none of the"
                    + " \(edge.attempts.map(String.init) ?? "") attempts follows:"
                    + " the attempt timeout stands outside of the retry"
            }),
        LintRule(
            "attempt-timeout-outside-hedge", .warning, "An attempt timeout outside of a hedge",
            harm: """
                A copy has only the time that the first request leaves, and ends with this request.
                """,
            remedy: "Move the attempt timeout inside of the hedge",
            source: "documentation of Hedge: gates that must see each attempt are inside",
            offender: .inner,
            edges: { $0.edges($0.all(.hedge), outsideOfSome: .attemptTimeout) },
            story: { edge, _ in
                let limit = edge.inner.limit(.head)?.text ?? ""
                return
                    "the first request and its copies have \(limit) together: a copy that is sent"
                    + " late ends with the first"
            }),
        LintRule(
            "attempt-timeout-outside-wait", .warning, "An attempt timeout that counts a wait",
            harm: """
                Under load the time in line uses up the limit before anything is sent. The attempt \
                fails, a retry takes a new place in line, and the line grows.
                """,
            remedy: "Move the attempt timeout inside of the gate that waits",
            source: "Bronson et al., \"Metastable Failures in Distributed Systems\", 2021",
            offender: .inner,
            edges: { subject in
                let waiting = subject.entries.filter {
                    $0.wait != nil
                        && !$0.kinds.isDisjoint(
                            with: [.rateLimit, .concurrencyLimit, .authentication])
                }
                return subject.edges(waiting, outsideOfSome: .attemptTimeout)
            },
            story: { edge, _ in
                let limit = edge.inner.limit(.head)?.text ?? ""
                return
                    "a wait for \(edge.outer.wait ?? "") counts toward the \(limit) of an attempt,"
                    + " which may end before anything was sent"
            }),
        LintRule(
            "attempt-timeout-beyond-deadline", .warning, "An attempt timeout beyond the deadline",
            harm: """
                The deadline always ends the call first, and the attempt timeout has no effect. A \
                server that hangs gets one attempt, whatever the retry says.
                """,
            remedy: "Set the attempt timeout to a fraction of the deadline, such as a third",
            source: "documentation of AttemptTimeout: if less time is left, the deadline decides",
            check: { subject in
                subject.all(.attemptTimeout).compactMap { attempt -> LintDraft? in
                    guard let limit = attempt.limit(.head) else { return nil }
                    let deadlines = subject.all(.deadline).filter {
                        $0.index < attempt.index && subject.mayMeet($0, attempt)
                            && $0.limit(.body).map { $0 <= limit } ?? false
                    }
                    guard let most = deadlines.compactMap({ $0.limit(.body) }).min() else {
                        return nil
                    }
                    return LintDraft(
                        "a server that hangs uses up the deadline of \(most.text) in one attempt:"
                            + " the attempt timeout of \(limit.text) never ends an attempt",
                        of: deadlines + [attempt])
                }
            }),
    ]

    static func longest(_ retries: [LintSubject.Entry], _ limit: Duration) -> Duration? {
        var most = limit
        for nested in LintSubject.passed(retries) {
            var total = limit
            for retry in nested.reversed() {
                guard let retries = retry.retries, let attempts = retries.attempts,
                    let waits = retries.waits, waits < .seconds(1 << 40),
                    let all = total == .zero ? Duration.zero : times(total, attempts)
                else { return nil }
                total = all + waits
            }
            most = max(most, total)
        }
        return most
    }

    static func times(_ time: Duration, _ count: Int) -> Duration? {
        guard count < 1 << 20, time < .seconds(1 << 40), time > .zero else { return nil }
        return time * count
    }
}
