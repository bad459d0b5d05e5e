public import Foundation
public import TurnpikeCore

/// What is tried again: statuses, errors, methods, and a condition of the caller's.
///
/// Policies compose: ``or(_:)`` tries again what either of two would, ``deciding(_:)`` asks a
/// closure first.
///
/// ```swift
/// let policy = RetryPolicy.standard
///     .or(RetryPolicy(statuses: [409], codes: [], urlErrors: []))
///     .deciding { $0.head?.headers["X-Final"] == "1" ? false : nil }
/// ```
///
/// A call that its caller marks (``/TurnpikeCore/Call/retryable(_:)``) may be sent twice whatever
/// its method, or never.
public struct RetryPolicy: Sendable {
    /// The statuses that are tried again.
    public var statuses: Set<HTTPStatus>
    /// The codes of errors that are tried again.
    public var codes: Set<ClientError.Code>
    /// The errors of URLSession that are tried again, where a gate or a transport of the caller's
    /// throws them as they are.
    public var urlErrors: Set<URLError.Code>
    /// The methods that may be sent twice.
    public var methods: Set<HTTPMethod>
    private var condition: (@Sendable (Outcome) -> Bool?)?

    /// Creates a policy.
    /// - Parameters:
    ///   - statuses: The statuses that are tried again; those that tell of a passing state.
    ///   - codes: The codes of errors that are tried again; those of the network.
    ///   - urlErrors: The errors of URLSession that are tried again; those of the network.
    ///   - methods: The methods that may be sent twice; the idempotent ones and QUERY.
    public init(
        statuses: Set<HTTPStatus> = [408, 425, 429, 500, 502, 503, 504],
        codes: Set<ClientError.Code> = [
            .connection, .dns, .connectTimeout, .attemptTimeout, .incomplete, .idleTimeout,
        ],
        urlErrors: Set<URLError.Code> = RetryPolicy.passingURLErrors,
        methods: Set<HTTPMethod> = [.get, .head, .options, .trace, .query, .put, .delete]
    ) {
        self.statuses = statuses
        self.codes = codes
        self.urlErrors = urlErrors
        self.methods = methods
    }

    /// The defaults.
    public static let standard = RetryPolicy()

    /// Nothing is tried again.
    public static let never = RetryPolicy(statuses: [], codes: [], urlErrors: [])

    /// The errors of URLSession that tell of a passing state of the network.
    public static let passingURLErrors: Set<URLError.Code> = [
        .backgroundSessionInUseByAnotherProcess, .backgroundSessionWasDisconnected,
        .badServerResponse, .callIsActive, .cannotConnectToHost, .cannotFindHost,
        .cannotLoadFromNetwork, .dataNotAllowed, .dnsLookupFailed,
        .downloadDecodingFailedMidStream, .downloadDecodingFailedToComplete,
        .internationalRoamingOff, .networkConnectionLost, .notConnectedToInternet,
        .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateNotYetValid,
        .timedOut,
    ]

    /// A policy that tries again what this one or another does.
    ///
    /// Where both have a condition, this one's is asked first.
    public func or(_ other: RetryPolicy) -> RetryPolicy {
        var copy = self
        copy.statuses.formUnion(other.statuses)
        copy.codes.formUnion(other.codes)
        copy.urlErrors.formUnion(other.urlErrors)
        copy.methods.formUnion(other.methods)
        guard let second = other.condition else { return copy }
        let first = condition
        copy.condition = { first?($0) ?? second($0) }
        return copy
    }

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

    /// Whether an outcome is one to try again, as far as statuses, errors and the condition go.
    func lists(_ outcome: Outcome) -> Bool { condition?(outcome) ?? isListed(outcome) }

    /// Whether the request of an outcome may be sent a second time.
    func maySendAgain(_ outcome: Outcome, in context: Context) -> Bool {
        let request = outcome.request
        if request.options[RetryableOption.self] == false { return false }
        if outcome.isUnsent { return true }
        if request.options.isOneTime { return false }
        if mayBeSentTwice(request) { return true }
        // A 408 says that the request did not come whole (RFC 9110 §15.5.9): often it was on its
        // way to an idle connection already, and answers nothing. OkHttp repeats it whatever the
        // method too.
        return outcome.status == 408 && !Self.hasEffect(outcome, context)
    }

    /// Whether content that breaks off might be asked for again.
    func mayRepeatContent(of request: Request) -> Bool {
        request.options[RetryableOption.self] != false && !request.options.isOneTime
            && mayBeSentTwice(request) && (condition != nil || codes.contains(.incomplete))
    }

    private func mayBeSentTwice(_ request: Request) -> Bool {
        methods.contains(request.method) || request.options.isRetryable
            || request.headers.contains(.idempotencyKey)
    }

    // Whether a redirect inside led on from a server that may have done what was asked: a 408 of
    // the next one is not about that request.
    private static func hasEffect(_ outcome: Outcome, _ context: Context) -> Bool {
        let before = outcome.request.options[RedirectTrail.self]?.count ?? 0
        return context.call.record.hops.dropFirst(before).contains {
            RedirectRules.mayHaveEffect($0.status)
        }
    }

    private func isListed(_ outcome: Outcome) -> Bool {
        if outcome.error == nil || outcome.code == .validation, let status = outcome.status {
            return statuses.contains(status)
        }
        // What a proxy answers is judged as a server's answer is.
        if let status = outcome.proxyStatus { return statuses.contains(status) }
        if let error = outcome.error as? URLError { return urlErrors.contains(error.code) }
        return outcome.code.map(codes.contains) ?? false
    }
}
