/// A gate that changes requests.
///
/// ```swift
/// struct TenantHeader: SynchronousRequestAdapter {
///     let tenant: String
///     func adapt(_ request: inout Request, context: Context) { request.headers["X-Tenant"] = tenant }
/// }
/// ```
///
/// Inside a retry it runs for each attempt, inside a redirect for each hop. An adapter that never
/// waits should conform to ``SynchronousRequestAdapter``, which avoids an asynchronous call.
public protocol RequestAdapter: Gate {
    /// Changes a request, or throws to fail the call.
    func adapt(_ request: inout Request, context: Context) async throws
}

/// A ``RequestAdapter`` that never waits.
public protocol SynchronousRequestAdapter: RequestAdapter {
    /// Changes a request, or throws to fail the call.
    func adapt(_ request: inout Request, context: Context) throws
}

/// What happens after an attempt.
public enum RetryDecision: Sendable {
    /// Accept the outcome: its response is returned or its error thrown.
    case stop
    /// Make another attempt after a wait.
    case retry(after: Duration)
    /// End the call with another error.
    ///
    /// Nothing in the call is retried any more: outer retries do not ask their policies, hedges do
    /// not wait for another response, and redirects and challenges in the outcome are not followed.
    /// Calls that share the exchange end as well. An outer gate may still return something else
    /// instead, as a fallback does. A ``ClientError`` gets the outcome's error as
    /// ``ClientError/underlying`` and its response as ``ClientError/response``, unless they are
    /// already set.
    case fail(any Error)
}

/// A gate that decides whether to make another attempt.
///
/// The framework does the rest: it replays the body or stops if that is impossible, discards the
/// response, waits within the deadline and starts a new attempt. The retrier is not asked about
/// cancellations.
public protocol RequestRetrier: Gate {
    /// Judges the outcome of an attempt.
    func retry(_ outcome: Outcome, context: Context) async -> RetryDecision

    /// Called if a decided attempt is not made, because the call ended during the wait.
    func retryWasAbandoned(_ outcome: Outcome, context: Context)

    /// How many bytes of a successful response's content are read before the attempt is judged, so
    /// that content that breaks off is judged like a missing head.
    ///
    /// The default 0 judges at the head.
    ///
    /// Called at the head of a successful response if the caller gets a value of the whole content
    /// (``Context/collectedBytes``) and the content is incomplete. Larger content is passed to the
    /// caller as a stream that starts with the bytes already read.
    func keptBytes(_ outcome: Outcome, context: Context) -> Int
}

extension RequestRetrier {
    /// Does nothing.
    public func retryWasAbandoned(_ outcome: Outcome, context: Context) {}

    /// 0: the attempt is judged at the head.
    public func keptBytes(_ outcome: Outcome, context: Context) -> Int { 0 }
}

/// A gate that rejects responses.
///
/// ```swift
/// struct JSONOnly: ResponseValidator {
///     func validate(_ response: Response, for request: Request, context: Context) throws {
///         guard response.headers[.contentType] == "application/json" else { throw NotJSON() }
///     }
/// }
/// ```
///
/// The framework discards the body of a rejected response. A ``ClientError`` with
/// ``ClientError/Code/validation`` keeps the head and up to 4 KiB of the body. Inside a retry, a
/// rejected status can be retried.
public protocol ResponseValidator: Gate {
    /// Returns to accept the response, or throws to reject it.
    func validate(_ response: Response, for request: Request, context: Context) async throws
}

/// A gate that receives the events of its part of the chain, in order.
///
/// Events are redacted before they arrive. The logger must not block; one that writes should use a
/// queue.
public protocol RequestLogger: Gate {
    /// Receives an event.
    func log(_ event: CallEvent)

    /// How many bytes of content events may show: of request content in memory, and of response
    /// content as the caller reads it.
    ///
    /// 0 by default.
    var peekBytes: Int { get }
}

extension RequestLogger {
    /// 0: no content is shown.
    public var peekBytes: Int { 0 }
}

/// A gate that receives one measurement for each pass, after the body has ended.
public protocol MetricsRecorder: Gate {
    /// Records a pass.
    func record(_ measurement: CallMeasurement)

    /// Called when a pass begins, for example to count the active ones.
    ///
    /// Each call is followed by one ``record(_:)``.
    func passBegins(_ request: Request)
}

extension MetricsRecorder {
    /// Does nothing.
    public func passBegins(_ request: Request) {}
}
