// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

extension LintRule {
    static let redirects: [LintRule] = [
        LintRule(
            "target-check-outside-redirect", .error, "A URL policy outside of the redirect",
            harm: """
                Only the first URL is checked. A server answers with a redirect to an address inside \
                the network, and the request goes there (server-side request forgery).
                """,
            remedy: "Move the policy inside the redirect",
            source: "OWASP, \"Server-Side Request Forgery Prevention\"; CWE-918",
            offender: .inner,
            edges: { subject in
                subject.edges(
                    subject.all(.redirect), outside: subject.all(where: { $0 == .checksTarget }))
            },
            story: { edge, _ in
                "\(hops(edge)) hops go where a server sends them, even to addresses inside the"
                    + " network: \(edge.inner.name) checks only the first URL"
            }),
        LintRule(
            "hsts-outside-redirect", .error, "HSTS outside of the redirect",
            harm: """
                A redirect to http at a host that has asked for TLS is followed in plain text, \
                with everything that the gates inside add.
                """,
            remedy: "Move HSTS inside the redirect",
            source: "RFC 6797 §8.3",
            offender: .inner,
            edges: { subject in
                subject.edges(
                    subject.all(.redirect), outside: subject.all(where: { $0 == .upgradesScheme }))
            },
            story: { edge, _ in
                "a redirect to http at a host that asks for TLS is sent in plain text:"
                    + " \(edge.inner.name) sees only the first of \(requests(edge)) requests"
            }),
        LintRule(
            "hsts-inside-https-policy", .warning, "HSTS inside a policy that allows only https",
            harm: """
                A URL with http is refused before HSTS can change the URL to https, and HSTS does \
                nothing.
                """,
            remedy: "Move HSTS outside of the policy",
            source: "RFC 6797 §8.3; documentation of HSTS",
            edges: { subject in
                subject.edges(
                    subject.all(where: { $0 == .upgradesScheme }),
                    outside: subject.entries.filter { $0.facts?.requiresTLS == true })
            },
            story: { edge, _ in
                "a URL with http fails even at a host that asks for TLS: \(edge.inner.name) refuses it"
                    + " before \(edge.outer.name) turns it into https"
            }),
        LintRule(
            "cookies-outside-redirect", .error, "Cookies outside of the redirect",
            harm: """
                The jar sees only the last response of the hops. A cookie that comes with a \
                redirect, as after a sign-in, is lost. Each hop gets the cookies of the first host \
                or no cookies.
                """,
            remedy: "Move the cookies inside the redirect",
            source: "RFC 6265 §5.3: a user agent takes the cookies of every response",
            offender: .inner,
            edges: { $0.edges(.redirect, outside: .cookies) },
            story: { edge, _ in
                "a sign-in that answers with a redirect sets no cookie: \(edge.inner.name) sees only the"
                    + " last of up to \(requests(edge)) responses"
            }),
        LintRule(
            "credential-outside-redirect", .warning, "A credential outside of the redirect",
            harm: """
                Only the first request gets the credential. A redirect to another of the \
                credential's origins is sent without the credential, and a challenge of that \
                origin is not answered.
                """,
            remedy: "Move the credential inside the redirect",
            source: "RFC 9110 §11.6.2 and §15.4",
            offender: .inner,
            edges: { subject in
                subject.edges(
                    subject.all(.redirect),
                    outside: subject.all(.authentication).filter {
                        $0.secrets.contains { $0.isBound }
                    })
            },
            story: { edge, _ in
                "a redirect to another of the credential's origins is sent without the credential:"
                    + " \(edge.inner.name) sees only the first of \(requests(edge)) requests"
            }),
        LintRule(
            "cache-outside-redirect", .error, "A cache outside of the redirect",
            harm: """
                The response at the end of the hops is stored under the first URL. So a temporary \
                redirect acts as a permanent one, and nothing is stored for its target.
                """,
            remedy: "Move the cache inside the redirect",
            source: "RFC 9111 §2: each response is stored under its own request",
            offender: .inner,
            edges: { $0.edges(.redirect, outside: .cache) },
            story: { edge, _ in
                "the response at the end of up to \(hops(edge)) hops is stored under the first"
                    + " URL, even if the redirect was temporary"
            }),
        LintRule(
            "redirect-inside-retry", .warning, "A redirect inside the retry",
            harm: """
                If a hop fails, the retry begins again with the first hop. After a 301, 302 or 303 \
                the first request may have had its effect, so the retry does not try the call \
                again at all.
                """,
            remedy:
                "Move the redirect outside of the retry, so that each hop has attempts of its own",
            source: "RFC 9110 §15.4; documentation of Retry",
            edges: { $0.edges(.redirect, outside: .retry) },
            story: { edge, _ in
                let (hops, attempts) = (hops(edge.outer) + 1, edge.attempts)
                let most = attempts.flatMap { $0 < 1 << 20 ? String($0 * hops) : nil }
                return "a call may make \(most ?? "any number of") requests: each of"
                    + " \(attempts.map(String.init) ?? "its") attempts begins again with the first of up"
                    + " to \(hops) hops"
            }),
        LintRule(
            "validation-inside-redirect", .hint, "A validation inside the redirect",
            harm: """
                Each redirect is refused before it is followed. A gate between the validation and \
                the redirect, such as a log or a breaker, sees an error although no error has \
                occurred. Also, the beginning of the redirect's content is read.
                """,
            remedy: "Move the validation outside of the redirect",
            source: "RFC 9110 §15.4; documentation of Validate",
            edges: { $0.edges(.validation, outside: .redirect) },
            story: { edge, _ in
                "each of up to \(hops(edge)) redirects counts as a refused response to the gates"
                    + " between \(edge.inner.name) and \(edge.outer.name)"
            }),
    ]

    private static func requests(_ edge: LintBreach) -> String {
        edge.requests.map(String.init) ?? "any number of"
    }

    private static func hops(_ edge: LintBreach) -> String {
        edge.requests.map { String($0 - 1) } ?? "any number of"
    }

    private static func hops(_ entry: LintSubject.Entry) -> Int {
        for case .redirects(let hops) in entry.effects { return max(hops, 0) }
        return 0
    }
}
