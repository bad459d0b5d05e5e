// SPDX-License-Identifier: Apache-2.0

import Turnpike
import TurnpikeAuthentication
import TurnpikeCache
import TurnpikeCore
import TurnpikeTraffic

// What each hop must pass, and what requests get.
extension LintCase {
    static let redirects: [LintCase] = [
        LintCase(
            "target-check-outside-redirect", [.urlPolicy(denyPrivate: .always), .redirect()],
            [.redirect(), .urlPolicy(denyPrivate: .always)], "10 hops"),
        LintCase(
            "hsts-outside-redirect", [.hsts(), .redirect(limit: 3)],
            [.redirect(limit: 3), .hsts()],
            "4 requests"),
        LintCase(
            "hsts-inside-https-policy", [.urlPolicy(schemes: ["https"]), .hsts()],
            [.hsts(), .urlPolicy(schemes: ["https"])], "URLPolicy refuses it before HSTS"),
        LintCase(
            "hsts-inside-https-policy", [.urlPolicy(schemes: ["https"]), .hsts()],
            [.urlPolicy(), .hsts()]),
        LintCase(
            "cookies-outside-redirect", [.cookies(), .redirect(limit: 3)],
            [.redirect(limit: 3), .cookies()], "4 responses"),
        LintCase(
            "credential-outside-redirect", [.bearer(token: "t"), .redirect()],
            [.redirect(), .bearer(token: "t")], "another of the credential's origins"),
        LintCase(
            "cache-outside-redirect", [.cache(), .redirect()], [.redirect(), .cache()], "10 hops"),
        LintCase(
            "redirect-inside-retry", [.retry(attempts: 3), .redirect(limit: 4)],
            [.redirect(limit: 4), .retry(attempts: 3)], "may make 15 requests"),
        LintCase(
            "validation-inside-redirect", [.redirect(), .validate()], [.validate(), .redirect()],
            "10 redirects"),
    ]

    static let requests: [LintCase] = [
        LintCase(
            "stale-stamp", [Sign(valid: .seconds(60)), .retry(maxRetryAfter: .seconds(40))],
            [Sign(valid: .seconds(90)), .retry(maxRetryAfter: .seconds(40))],
            "up to 80 s after it was signed, though the signature is valid for 60 s"),
        LintCase(
            "stale-stamp", [Sign(), .retry()], [.retry(), Sign()], "with the same signature"),
        LintCase(
            "stale-stamp", [Sign(valid: .seconds(60)), .concurrencyLimit()],
            [.concurrencyLimit(), Sign(valid: .seconds(60))], "any time"),
        LintCase(
            "signed-before-change", [Sign(), .compressBodies()], [.compressBodies(), Sign()],
            "Sign signs the content before CompressBodies changes it"),
        LintCase(
            "signed-before-change", [.digest(user: "u", password: "p"), .compressBodies()],
            [.compressBodies(), .digest(user: "u", password: "p")],
            "DigestAuthentication signs the content before CompressBodies changes it"),
        LintCase(
            "secret-over-http", [.basic(user: "u", password: "p")],
            [.digest(user: "u", password: "p"), Sign()], baseURL: "http://api.example.com/v1/",
            "Authorization goes to http://api.example.com in plain text"),
        LintCase(
            "secret-over-http",
            [.basic(user: "u", password: "p", origins: ["https://a.test", "http://b.test:81"])],
            [.basic(user: "u", password: "p", origins: ["https://a.test", "http://localhost:81"])],
            baseURL: "https://a.test/", "Authorization goes to http://b.test:81 in plain text"),
        LintCase(
            "secret-over-http", [.setHeaders(["X-Api-Key": "k"], origins: ["http://b.test"])],
            [.only(for: [tls], [.setHeaders(["X-Api-Key": "k"], origins: ["http://b.test"])])],
            "X-Api-Key goes to http://b.test in plain text"),
        LintCase(
            "secret-over-http", [.only(for: [plain, tls], [.setHeaders(["X-Api-Key": "k"])])],
            [.only(for: [plain], [.only(for: [tls], [.setHeaders(["X-Api-Key": "k"])])])],
            "X-Api-Key goes to http://b.test in plain text"),
        LintCase(
            "secret-over-http", [.bearer(token: "t", origins: ["http://b.test"])],
            [.only(for: [plain], [.bearer(token: "t")])], baseURL: "https://a.test/"),
        LintCase(
            "secret-over-http", [.bearer(token: "t")],
            [.bearer(token: "t", origins: ["https://api.example.com"])],
            baseURL: "http://api.example.com/"),
        LintCase(
            "secret-over-http", [.setHeaders(["X-Api-Key": "k"])],
            [
                .only(
                    for: [Origin(scheme: "https", host: "api.example.com", port: 443)],
                    [.setHeaders(["X-Api-Key": "k"])])
            ], baseURL: "http://api.example.com/", "X-Api-Key goes"),
        LintCase(
            "secret-without-origins", [.setHeaders(["X-Api-Key": "k"])],
            [.setHeaders(["X-Api-Key": "k"], origins: ["https://a.test"])], "X-Api-Key goes"),
        LintCase(
            "secret-without-origins",
            [.when({ _ in true }, then: [.setHeaders(["X-Api-Key": "k"])])],
            [
                .only(
                    for: [Origin(scheme: "https", host: "a.test", port: 443)],
                    [.setHeaders(["X-Api-Key": "k"])])
            ], "X-Api-Key goes"),
        LintCase(
            "credential-overridden",
            [.setHeaders(["Authorization": "k"]), .basic(user: "u", password: "p")],
            [
                .basic(user: "v", password: "q", origins: ["https://b.test"]),
                .basic(user: "u", password: "p", origins: ["https://a.test"]),
            ], "SetHeaders and BasicAuthentication both set Authorization"),
        LintCase("limits-missing", [.deadline()], [.deadline(), .limits()], "100 MiB"),
        LintCase(
            "decoding-limit-not-kept", [.limits(.init(ratio: 5))], [.limits()], "more than 5 times"),
    ]

    private static let plain = Origin(scheme: "http", host: "b.test", port: 80)
    private static let tls = Origin(scheme: "https", host: "a.test", port: 443)
}

/// Signs the date of a request.
private struct Sign: SynchronousRequestAdapter {
    var valid: Duration?

    func facts(for request: Request?) -> GateFacts? {
        GateFacts(
            "signs the request and its date",
            .setsFields(["Authorization"], .secret(isBound: true)),
            .stampsTime(valid: valid))
    }

    func adapt(_ request: inout Request, context: Context) {}
}
