// SPDX-License-Identifier: Apache-2.0

// A call whose value needs the whole content is retried as a whole.
extension Plan {
    /// Returns the outcome of an attempt after reading as much of a successful response's content
    /// as the retrier keeps for a call that collects it.
    ///
    /// Content that breaks off becomes a failed outcome.
    ///
    /// The limits of the body outside the retry apply here too: cancellation, deadline,
    /// ``IdleBound`` and ``CollectLimit``.
    func keepingContent(
        of outcome: Outcome, for retrier: any RequestRetrier, in context: Context
    ) async -> Outcome {
        guard var response = outcome.response, response.status.kind == .successful,
            context.collectedBytes > 0, !outcome.request.options.isStreaming,
            // A caller that waits for the head must not wait for the body.
            !context.isLimitedToHead,
            // The content is complete and can no longer break off.
            !response.body.storage.isSettled
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
        // The body may not belong to the context.
        let registration = context.onCancel { canceller.cancel($0) }
        defer { registration.end() }
        return try await readAhead(upTo: maxBytes)
    }
}

/// How long a body that a retry keeps may be idle, as set by a gate outside the retry for
/// ``ResponseBody/limitIdleTime(to:minBytes:window:timeSource:)``.
///
/// Contexts inside that gate inherit it, including those of new attempts. A limit inside a retry
/// applies only to its attempt.
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
    /// Whether an inner retry may repeat the request.
    package var retries: Bool { plan.retries(from: position) }
}
