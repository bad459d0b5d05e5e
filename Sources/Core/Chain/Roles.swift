/// A gate that changes requests.
///
/// ```swift
/// struct TenantHeader: SynchronousRequestAdapter {
///     let tenant: String
///     func adapt(_ request: inout Request, context: Context) { request.headers["X-Tenant"] = tenant }
/// }
/// ```
///
/// Below a retry it runs for each attempt, below a redirect for each hop. One that never waits
/// conforms to ``SynchronousRequestAdapter``: runs of those cost no call each.
public protocol RequestAdapter: Gate {
    /// Changes a request, or throws to fail the call.
    func adapt(_ request: inout Request, context: Context) async throws
}

/// A ``RequestAdapter`` that never waits.
public protocol SynchronousRequestAdapter: RequestAdapter {
    /// Changes a request, or throws to fail the call.
    func adapt(_ request: inout Request, context: Context) throws
}

/// What is to happen after an attempt.
public enum RetryDecision: Sendable {
    /// The outcome stands: its response is returned, its error thrown.
    case stop
    /// Another attempt after a wait.
    case retry(after: Duration)
    /// The call ends with another error.
    ///
    /// Nothing in it is tried again: no retry further out asks its policy, no hedge waits for another
    /// answer, no redirect and no challenge that the outcome holds is followed, and calls that share
    /// the exchange end as well. A gate may still answer in its place, as a fallback does, and one
    /// that sends by itself may do so. A ``ClientError`` keeps the outcome: its error as
    /// ``ClientError/underlying`` and its response as ``ClientError/response``, if they are not set.
    case fail(any Error)
}

/// A gate that decides whether an attempt is made again.
///
/// The framework does the rest: it replays the body or stops honestly, gives up the response, waits
/// within the deadline and opens a fresh attempt. A cancellation is never offered.
public protocol RequestRetrier: Gate {
    /// Judges what came of an attempt.
    func retry(_ outcome: Outcome, context: Context) async -> RetryDecision

    /// Hears that an attempt which was decided is not made: the call ended in the wait before it.
    func retryWasAbandoned(_ outcome: Outcome, context: Context)

    /// How many bytes of a successful response's content are read before the attempt counts as
    /// done, so that content which breaks off is judged like a head that does not come; 0, the
    /// default, judges at the head.
    ///
    /// It is asked at the head of a success, where the caller gets a value of the whole content
    /// (``Context/collectedBytes``) that is still to come. What is larger goes on to the caller as
    /// it comes, behind what was read.
    func keptBytes(_ outcome: Outcome, context: Context) -> Int
}

extension RequestRetrier {
    /// Does nothing.
    public func retryWasAbandoned(_ outcome: Outcome, context: Context) {}

    /// None: the head decides.
    public func keptBytes(_ outcome: Outcome, context: Context) -> Int { 0 }
}

/// A gate that refuses responses.
///
/// ```swift
/// struct JSONOnly: ResponseValidator {
///     func validate(_ response: Response, for request: Request, context: Context) throws {
///         guard response.headers[.contentType] == "application/json" else { throw NotJSON() }
///     }
/// }
/// ```
///
/// The framework gives up the body of a response that is refused; a ``ClientError`` of
/// ``ClientError/Code/validation`` keeps the head and up to 4 KiB of the body. Inside a retry, a
/// refused status can be tried again.
public protocol ResponseValidator: Gate {
    /// Returns, or throws to refuse the response.
    func validate(_ response: Response, for request: Request, context: Context) async throws
}

/// A gate that hears what happens in its pass and in the gates inside it, in order.
///
/// Events are redacted before they reach it. It must not block; a sink that writes has a queue.
public protocol RequestLogger: Gate {
    /// Hears of an event.
    func log(_ event: CallEvent)

    /// How many bytes of contents the events are to show: of a request's where they are in memory,
    /// of a response's as the reader pulls them.
    ///
    /// 0 by default.
    var peekBytes: Int { get }
}

extension RequestLogger {
    /// None.
    public var peekBytes: Int { 0 }
}

/// A gate that gets one measurement for each pass through its position, once the body has ended.
public protocol MetricsRecorder: Gate {
    /// Records a pass.
    func record(_ measurement: CallMeasurement)

    /// Hears that a pass begins, for a count of those under way.
    ///
    /// Each is followed by one ``record(_:)``.
    func passBegins(_ request: Request)
}

extension MetricsRecorder {
    /// Does nothing.
    public func passBegins(_ request: Request) {}
}
