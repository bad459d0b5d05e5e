// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeMiddleware
import TurnpikeSupport

extension Registry {
    mutating func registerRetries() {
        register(
            gate: "retry",
            description: PartDescription(
                """
                Sends a request again after a temporary failure, if the request may be sent twice. \
                A wait is never shorter than `Retry-After`.
                """,
                settings: [
                    "attempts": "The maximum number of attempts of a call.",
                    "base": """
                    The bound of the first wait, which doubles with each attempt. The default is \
                    0.05, or 1 after a 429 or 503.
                    """,
                    "max": "The highest bound of a wait.",
                    "jitter": """
                    How a wait is randomized. `"full"` takes a random part of the bound. \
                    `"decorrelated"` makes a wait depend on the previous wait. `"none"` takes the \
                    bound.
                    """,
                    "maxRetryAfter": """
                    The longest `Retry-After` for which the gate waits. A longer `Retry-After` \
                    ends the retries.
                    """,
                    "budget": .budget,
                    "statuses": .init(
                        "The statuses that are retried.", type: .list(of: .integer(100...599)),
                        default: [408, 425, 429, 500, 502, 503, 504]),
                    "methods": """
                    The methods that may be sent twice. The default is the idempotent methods and \
                    QUERY.
                    """,
                    "maxKeptBytes": """
                    The maximum number of bytes of a successful response that the gate buffers, so \
                    that it can retry if the body breaks off. With 0, the gate buffers nothing.
                    """,
                    "shared": .shared, "cooldowns": .cooldowns, "keyHeader": .keyHeader,
                    "metrics": .metrics, "switch": .control,
                ],
                example: #"{"use": "retry", "attempts": 3, "statuses": [429, 503], "id": "retry"}"#)
        ) { $0.switched(Retry(settings: $0)) }
    }
}

extension Retry {
    init(settings: Settings) {
        var policy = RetryPolicy.standard
        if let statuses = settings.list("statuses") {
            policy.statuses = Set(
                settings.each(statuses, of: "statuses", expected: "a status from 100 to 599") {
                    $0.int.flatMap { (100...599).contains($0) ? HTTPStatus($0) : nil }
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
        let cooldowns = settings.cooldowns(
            settings.sharedPart((any SharedGates).self), settings.quotaKeyField())
        self.init(
            attempts: settings.int("attempts", default: 3, in: 1...12), policy: policy,
            backoff: backoff,
            maxRetryAfter: settings.seconds("maxRetryAfter", default: .seconds(60), orZero: true),
            budget: settings.retryBudget(),
            maxKeptBytes: settings.int("maxKeptBytes", default: 1_048_576, in: 0...1_073_741_824),
            cooldowns: cooldowns)
    }

    // Methods are case-sensitive. A method in lower case would match no request.
    private static func method(_ name: String, at key: String, _ settings: Settings) -> HTTPMethod?
    {
        let method = HTTPMethod(name)
        let upper = HTTPMethod(name.uppercased())
        if !Grammar.isToken(name) {
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

extension Settings {
    /// Returns the budget for the retries and hedges of a stack.
    ///
    /// Each gate has its own ratio. All gates share the counts of calls and retries, which survive
    /// a reload.
    public func retryBudget() -> RetryBudget? {
        let meter = meter()
        if isNull("budget") { return nil }
        return RetryBudget(
            shared("retryAccounts", for: true) { RetryBudget.Accounts() },
            ratio: double("budget", default: 0.2, in: 0...10), meter: meter)
    }
}

extension Settings {
    private struct CooldownTerms: Hashable, Sendable {
        let store: ObjectIdentifier?
        let keyField: HTTPHeaders.Name?
    }

    /// Returns the cool-downs for the limits and retries of a stack, which survive a reload.
    /// - Parameters:
    ///   - part: The state that the gate shares with other replicas.
    ///   - keyField: The field with the account to which the cool-down of a request applies.
    /// - Returns: The cool-downs, or nil if the gate uses no cool-downs.
    public func cooldowns(_ part: (any SharedGates)?, _ keyField: HTTPHeaders.Name?) -> Cooldowns? {
        guard bool("cooldowns", default: false) || part != nil else { return nil }
        if keyField == nil, let part { return part.cooldowns(key: nil) }
        let terms = CooldownTerms(
            store: part.map { ObjectIdentifier($0) }, keyField: keyField)
        var key: (@Sendable (Request) -> String?)?
        if let keyField { key = { $0.headers[keyField] } }
        return shared("cooldowns", for: terms) { [key] in
            part?.cooldowns(key: key) ?? Cooldowns(key: key)
        }
    }

    /// Returns the field that names the owner of a request's quota, such as a tenant.
    public func quotaKeyField() -> HTTPHeaders.Name? {
        guard let name = headerName("keyHeader") else { return nil }
        // A secret is not allowed here, because the value becomes part of a key in the store.
        if Redaction.standard.hides(header: name) {
            issue(at: "keyHeader", "found a field with secrets; expected the field of an account")
        }
        return name
    }
}

extension SettingDescription {
    /// The setting `keyHeader`, which ``Settings/quotaKeyField()`` reads.
    public static let keyHeader: SettingDescription = """
        The request field that names the owner of the quota, such as a tenant. Each value of the \
        field has its own quota at an origin. The field must not be a secret.
        """

    /// The setting `cooldowns`, which ``Settings/cooldowns(_:_:)`` reads.
    public static let cooldowns: SettingDescription = """
        Whether a 429 or 503 with `Retry-After` stops all requests to the origin until that time. \
        Limits and retries of a stack share the cool-downs. Always true with `shared`.
        """
}
