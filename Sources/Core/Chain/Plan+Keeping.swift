// A call for a whole value is tried again as a whole.
extension Plan {
    /// The outcome of an attempt, once as much of a success's content is here as the retrier keeps
    /// for a terminal that collects: what breaks off before is an outcome like any other.
    ///
    /// What bounds the body outside of the retry bounds it here: cancellation and deadline,
    /// ``IdleBound``, ``CollectLimit``.
    func keepingContent(
        of outcome: Outcome, for retrier: any RequestRetrier, in context: Context
    ) async -> Outcome {
        guard var response = outcome.response, response.status.kind == .successful,
            context.collectedBytes > 0, !outcome.request.options.isStreaming,
            // Who waits for the head must not be kept waiting for the body.
            !context.isLimitedToHead,
            // Nothing of it can break off any more.
            !response.body.storage.isComplete
        else { return outcome }
        let limit = min(
            retrier.keptBytes(outcome, context: context), context.collectedBytes,
            context[CollectLimit.self])
        let known = max(response.body.length ?? 0, response.body.encodedLength ?? 0)
        guard limit > 0, known <= limit else { return outcome }
        let begin = context.timeSource.now
        do {
            response.body = try await response.body.kept(upTo: limit, in: context)
            return outcome.with(.success(response), after: outcome.elapsed)
        } catch {
            let failure = (error as? ClientError)?.behindAnAnswer.completed(response: response.head)
            return outcome.with(
                .failure(failure ?? error),
                after: outcome.elapsed + begin.duration(to: context.timeSource.now))
        }
    }
}

extension Outcome {
    fileprivate func with(
        _ result: Result<Response, any Error>, after elapsed: Duration
    ) -> Outcome {
        Outcome(
            request: request, result: result, attempts: attempts, elapsed: elapsed,
            previousDelay: previousDelay)
    }
}

extension ResponseBody {
    fileprivate func kept(upTo maxBytes: Int, in context: Context) async throws -> ResponseBody {
        if let bound = context.idleBound { bound.limit(self, context.timeSource) }
        let canceller = canceller
        // A body need not be one of the context's.
        let registration = context.onCancel { canceller.cancel($0) }
        defer { registration.end() }
        return try await readAhead(upTo: maxBytes)
    }
}

/// How long a body may stand still that a retry keeps, as a gate outside of the retry says: a limit
/// for ``ResponseBody/limitIdleTime(to:minBytes:window:timeSource:)``.
///
/// The contexts inside of that gate have it, those of fresh attempts too: what stands inside a retry
/// binds the attempt, and no other.
package struct IdleBound: Sendable {
    let limit: Duration
    let minBytes: Int
    let window: Duration

    package init(_ limit: Duration, minBytes: Int, window: Duration) {
        self.limit = limit
        self.minBytes = minBytes
        self.window = window
    }

    fileprivate func limit(_ body: ResponseBody, _ timeSource: any TimeSource) {
        body.limitIdleTime(
            to: limit, minBytes: minBytes, window: window, timeSource: timeSource)
    }
}

extension Next {
    /// Whether a retry inside may try the request again.
    package var retries: Bool { plan.retries(from: position) }
}
