import TurnpikeCore

extension Retry {
    init(settings: Settings) {
        var policy = RetryPolicy.standard
        if let statuses = settings.list("statuses") {
            policy.statuses = Set(
                statuses.enumerated().compactMap { index, value in
                    if let code = value.int, (100...599).contains(code) { return HTTPStatus(code) }
                    settings.issue(at: "statuses[\(index)]", "a status from 100 to 599 is wanted")
                    return nil
                })
        }
        if let methods = settings.optionalStrings("methods") {
            policy.methods = Set(methods.map { HTTPMethod($0) })
        }
        var backoff = Backoff.standard
        backoff.jitter = settings.choice("jitter", default: JitterName.full).jitter
        if let base = settings.optionalSeconds("base", orZero: true) {
            backoff.base = base
            backoff.throttledBase = base
        }
        backoff.max = settings.seconds("max", default: backoff.max)
        self.init(
            attempts: settings.int("attempts", default: 3, in: 1...12), policy: policy,
            backoff: backoff,
            maxRetryAfter: settings.seconds("maxRetryAfter", default: .seconds(60), orZero: true),
            budget: RetryBudget.shared(settings))
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
    /// The budget of a stack's retries and hedges: each has its ratio, and all count into the same
    /// accounts, which a reload keeps.
    static func shared(_ settings: Settings) -> RetryBudget? {
        let meter = settings.meter()
        if settings.isNull("budget") { return nil }
        return RetryBudget(
            settings.shared("retryAccounts", for: true) { RetryAccounts() },
            ratio: settings.double("budget", default: 0.2, in: 0...10), meter: meter)
    }
}
