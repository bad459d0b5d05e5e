public import TurnpikeCore

/// What is tried again: statuses, errors, methods, and a condition of the caller's.
public struct RetryPolicy: Sendable {
    /// The statuses that are tried again.
    public var statuses: Set<HTTPStatus>
    /// The codes of errors that are tried again.
    public var codes: Set<ClientError.Code>
    /// The methods that may be sent twice.
    public var methods: Set<HTTPMethod>
    private var condition: (@Sendable (Outcome) -> Bool?)?

    /// Creates a policy.
    /// - Parameters:
    ///   - statuses: The statuses that are tried again; those that tell of a passing state.
    ///   - codes: The codes of errors that are tried again; those of the network.
    ///   - methods: The methods that may be sent twice; the idempotent ones and QUERY.
    public init(
        statuses: Set<HTTPStatus> = [408, 425, 429, 500, 502, 503, 504],
        codes: Set<ClientError.Code> = [
            .connection, .dns, .connectTimeout, .attemptTimeout, .incomplete,
        ],
        methods: Set<HTTPMethod> = [.get, .head, .options, .trace, .query, .put, .delete]
    ) {
        self.statuses = statuses
        self.codes = codes
        self.methods = methods
    }

    /// The defaults.
    public static let standard = RetryPolicy()

    /// The policy with a condition that is asked first.
    /// - Parameter condition: true tries an outcome again, false does not, nil leaves it to the
    ///   policy. The rules on methods and bodies hold in any case.
    /// - Returns: The policy.
    public func deciding(_ condition: @escaping @Sendable (Outcome) -> Bool?) -> RetryPolicy {
        var copy = self
        let before = self.condition
        copy.condition = { condition($0) ?? before?($0) }
        return copy
    }

    func allows(_ outcome: Outcome) -> Bool {
        guard condition?(outcome) ?? isListed(outcome) else { return false }
        let request = outcome.request
        // A 408 says that the request did not come whole (RFC 9110 §15.5.9): often it was on its
        // way to an idle connection already, and answers nothing. OkHttp repeats it whatever the
        // method too.
        if outcome.isUnsent || outcome.status == 408 || methods.contains(request.method) {
            return true
        }
        return request.options.isRetryable || request.headers.contains(.idempotencyKey)
    }

    private func isListed(_ outcome: Outcome) -> Bool {
        if outcome.error == nil || outcome.code == .validation, let status = outcome.status {
            return statuses.contains(status)
        }
        return outcome.code.map(codes.contains) ?? false
    }
}
