// SPDX-License-Identifier: Apache-2.0

import Turnpike
import TurnpikeCache
import TurnpikeCore
import TurnpikeEndpoints
import TurnpikeTraffic

// Which endpoint of a host gets a request.
extension LintCase {
    private static let users = Endpoints(for: "users.internal", from: .list(["10.0.0.7:80"]))
    private static let orders = Endpoints(for: "orders.internal", from: .list(["10.0.0.8:80"]))

    static let endpoints: [LintCase] = [
        LintCase(
            "endpoints-without-retry", [.attemptTimeout(), users],
            [.retry(), .attemptTimeout(), users], "a broken endpoint of users.internal fails"),
        LintCase(
            "endpoints-without-attempt-timeout", [.retry(), users],
            [.retry(), .attemptTimeout(), users], "users.internal that hangs is never ejected"),
        LintCase(
            "wait-inside-endpoints", [users, .concurrencyLimit()], [.concurrencyLimit(), users],
            "before it waits for a permit"),
        LintCase(
            "wait-inside-endpoints", [users, .rateLimit(perSecond: 5)],
            [.rateLimit(perSecond: 5), users], "before it waits for its turn"),
        LintCase(
            "answer-inside-endpoints", [users, .cache()], [.cache(), users],
            "an answer of Cache counts as a quick success"),
        LintCase(
            "answer-inside-endpoints", [users, .coalesce()], [.coalesce(), users],
            "an answer of Coalesce"),
        LintCase(
            "endpoints-twice", [users, users], [users, orders],
            "Endpoints never chooses an endpoint of users.internal"),
        LintCase(
            "stated-order", [users, .retry()], [.retry(), users],
            "Endpoints must stand inside of Retry"),
        LintCase(
            "stated-order", [users, .hedge()], [.hedge(), users],
            "Endpoints must stand inside of Hedge"),
        LintCase(
            "stated-order", [users, .redirect()], [.redirect(), users],
            "Endpoints must stand inside of Redirect"),
    ]
}
