// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

extension Retry {
    init(settings: Settings) {
        var policy = RetryPolicy.standard
        if let statuses = settings.list("statuses") {
            policy.statuses = Set(
                statuses.enumerated().compactMap { index, value in
                    if let code = value.int, (100...599).contains(code) { return HTTPStatus(code) }
                    settings.issue(at: "statuses[\(index)]", "expected a status from 100 to 599")
                    return nil
                })
        }
        if let methods = settings.optionalStrings("methods") {
            policy.methods = Set(
                methods.enumerated().compactMap { index, name in
                    Self.method(name, at: "methods[\(index)]", settings)
                })
        }
        var backoff = Backoff.standard
        backoff.jitter = settings.choice("jitter", default: JitterName.full).jitter
        if let base = settings.optionalSeconds("base", orZero: true) {
            backoff.base = base
            backoff.throttledBase = base
        }
        backoff.max = settings.seconds("max", default: backoff.max)
        let state = settings.sharedState()
        let cooldowns = Cooldowns.ofStack(settings, state, settings.quotaKeyField())
        self.init(
            attempts: settings.int("attempts", default: 3, in: 1...12), policy: policy,
            backoff: backoff,
            maxRetryAfter: settings.seconds("maxRetryAfter", default: .seconds(60), orZero: true),
            budget: RetryBudget.shared(settings),
            maxKeptBytes: settings.int("maxKeptBytes", default: 1_048_576, in: 0...1_073_741_824),
            cooldowns: cooldowns)
    }

    // Methods are case-sensitive: no request would have one in lower case, and nothing would be
    // retried.
    private static func method(_ name: String, at key: String, _ settings: Settings) -> HTTPMethod?
    {
        let method = HTTPMethod(name)
        let upper = HTTPMethod(name.uppercased())
        if !method.isValid {
            settings.issue(at: key, "expected a method such as PUT")
        } else if upper != method, upper.isIdempotent || [.post, .patch].contains(upper) {
            settings.issue(at: key, "methods are case-sensitive; write \(upper)")
        } else {
            return method
        }
        return nil
    }

    private enum JitterName: String, CaseIterable {
        case full, decorrelated, none

        var jitter: Backoff.Jitter {
            switch self {
            case .full: .full
            case .decorrelated: .decorrelated
            case .none: .none
            }
        }
    }
}

extension RetryBudget {
    /// The budget of a stack's retries and hedges.
    ///
    /// Each has its own ratio, and all use the same accounts, which a reload keeps.
    static func shared(_ settings: Settings) -> RetryBudget? {
        let meter = settings.meter()
        if settings.isNull("budget") { return nil }
        return RetryBudget(
            settings.shared("retryAccounts", for: true) { RetryAccounts() },
            ratio: settings.double("budget", default: 0.2, in: 0...10), meter: meter)
    }
}
