// SPDX-License-Identifier: Apache-2.0

// A call whose value needs the whole content is retried as a whole.
extension Plan {
    /// Returns the outcome of an attempt after reading as much of a successful response's content
    /// as the retrier keeps for a call that collects it.
    ///
    /// Content that breaks off becomes a failed outcome.
    ///
    /// The limits of the body outside the retry apply here too: cancellation, deadline,
    /// ``IdleBound`` and ``Context/maxBytes``.
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
            context.maxBytes)
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

/// The idle limit for a body that a retry keeps, set by a gate outside the retry.
///
/// Contexts inside that gate inherit it, including those of new attempts. A limit inside a retry
/// applies only to its attempt.
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
    /// Runs the rest of the chain, and ends the body of its response as
    /// ``ClientError/Code/idleTimeout`` if it stalls, or arrives too slowly, while its reader
    /// waits.
    ///
    /// The same limit applies to content that an inner retry reads before it returns a response.
    /// - Parameters:
    ///   - request: The request.
    ///   - limit: The longest wait for a chunk.
    ///   - minBytes: The fewest bytes in a window; 0 sets no rate.
    ///   - window: How much time of waiting the rate is measured over.
    /// - Returns: The response.
    /// - Throws: The error of the rest of the chain.
    public func callAsFunction(
        _ request: Request, idleFor limit: Duration, minBytes: Int = 0,
        window: Duration = .seconds(10)
    ) async throws -> Response {
        let bound = IdleBound(limit: limit, minBytes: minBytes, window: window)
        let response =
            plan.retries(from: position)
            ? try await self(request, context: context.child(idleBound: bound))
            : try await self(request)
        bound.limit(response.body, context.timeSource)
        return response
    }
}
