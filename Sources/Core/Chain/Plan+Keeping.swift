// SPDX-License-Identifier: Apache-2.0

// If the value of a call needs the whole content, a retry gate repeats the request when the content
// breaks off.
extension Plan {
    /// How many bytes of a successful response's content the retry gate reads; nil for none.
    func keptBytes(
        of outcome: Outcome, for retrier: any RequestRetrier, in context: Context
    ) -> Int? {
        guard case .success(let response) = outcome.result, response.status.isSuccessful,
            context.collectedBytes > 0, !outcome.request.options.isStreaming,
            // A caller that waits only for the head must not wait for the body.
            !context.isLimitedToHead,
            // Complete content can no longer break off.
            !response.body.storage.isSettled
        else { return nil }
        let limit = min(
            retrier.keptBytes(outcome, context: context), context.collectedBytes,
            context.maxBytes)
        let known = max(response.body.length ?? 0, response.body.encodedLength ?? 0)
        return limit > 0 && known <= limit ? limit : nil
    }

    /// Returns the outcome of an attempt after reading the content of the response.
    ///
    /// If the content breaks off, the outcome is a failure. The content has the limits of the body
    /// outside the retry gate: cancellation, deadline, ``IdleBound`` and ``Context/maxBytes``.
    func keepingContent(
        of outcome: Outcome, upTo limit: Int, in context: Context
    ) async -> Outcome {
        guard var response = outcome.response else { return outcome }
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
        // A cancellation of this context must also end a body that belongs to another context.
        let registration = context.onCancel { canceller.cancel($0) }
        defer { registration.end() }
        return try await readAhead(upTo: maxBytes)
    }
}

/// The idle limit for a body that a retry gate reads, set by a gate outside the retry gate.
///
/// Contexts inside that gate inherit the limit, including the contexts of new attempts. A limit
/// inside a retry gate applies only to one attempt.
struct IdleBound: Sendable {
    let limit: Duration
    let minBytes: Int
    let window: Duration

    fileprivate func limit(_ body: ResponseBody, _ timeSource: any TimeSource) {
        body.limitIdleTime(
            to: limit, minBytes: minBytes, window: window, timeSource: timeSource)
    }
}

extension Next {
    /// Creates a child context that limits the idle time of content that an inner retry gate reads.
    ///
    /// A retry gate reads content before the gate returns the response
    /// (``RequestRetrier/keptBytes(_:context:)``). A ``PhasedInterceptor`` that also limits the
    /// body of its response uses this method
    /// (``ResponseBody/limitIdleTime(to:minBytes:window:timeSource:)``).
    /// - Parameters:
    ///   - limit: The longest wait for a chunk.
    ///   - minBytes: The minimum number of bytes in a window; 0 allows any rate.
    ///   - window: The waiting time over which the rate is measured.
    /// - Returns: The child, or the same context if no inner gate retries.
    public func context(
        idleFor limit: Duration, minBytes: Int = 0, window: Duration = .seconds(10)
    ) -> Context {
        guard plan.retries(from: position) else { return context }
        return context.child(
            idleBound: IdleBound(limit: limit, minBytes: minBytes, window: window))
    }
}
