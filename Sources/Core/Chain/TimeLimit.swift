/// What a time limit covers.
package enum TimeLimitExtent: Sendable {
    /// Up to the head of the response.
    case head
    /// Until the body has come.
    case body
}

extension Next {
    /// Runs the rest of the chain under a time limit.
    ///
    /// When time is up, the caller gets the error at once; the context's cancellation ends sends,
    /// waits and bodies inside, and the task's cancellation ends what a user's gate awaits. Nothing
    /// is sent after that.
    /// - Parameters:
    ///   - request: The request.
    ///   - limit: The time.
    ///   - extent: What it covers.
    ///   - fault: Makes the error of the limit.
    /// - Returns: The response.
    /// - Throws: What the rest throws, or the error of the limit.
    package func callAsFunction(
        _ request: Request, within limit: Duration, upTo extent: TimeLimitExtent,
        orThrow fault: @escaping @Sendable (_ limit: Duration) -> ClientError
    ) async throws -> Response {
        let timeSource = context.timeSource
        let inner =
            switch extent {
            case .head: context.childUpToHead()
            case .body: context.child(deadline: timeSource.now.advanced(by: limit))
            }
        let timer = timeSource.schedule(after: limit) { inner.cancel(.failed(fault(limit))) }
        do {
            let response = try await promptly(request, in: inner)
            switch extent {
            case .head: timer.cancel()
            case .body: response.body.keepLimit(timer, of: inner) { fault(limit) }
            }
            return response
        } catch {
            timer.cancel()
            throw error
        }
    }

    /// Runs the rest of the chain so that the caller hears at once when the context, or the task, is
    /// cancelled, even if a gate inside is deaf.
    ///
    /// What is known to heed a cancellation runs as it is; the rest runs in one child task.
    /// - Parameters:
    ///   - request: The request.
    ///   - inner: A child of the context, for what is inside alone.
    /// - Returns: The response.
    /// - Throws: What the rest throws, or the error of the cancellation.
    package func promptly(_ request: Request, in inner: Context) async throws -> Response {
        let response: Response
        do {
            if plan.heedsCancellation(from: position) {
                response = try await self(request, context: inner)
            } else {
                response = try await inner.running {
                    try await self(request, context: inner)
                } orAbandoning: {
                    $0.body.cancel(.drop)
                }
            }
        } catch {
            // The limit that fired wins over what it made others throw.
            if !Task.isCancelled, let reason = inner.cancelReason { throw reason.error }
            throw error
        }
        // A gate inside may have made an answer of the cancellation.
        guard let reason = inner.cancelReason else { return response }
        response.body.cancel(.drop)
        throw reason.error
    }
}

extension ResponseBody {
    /// Lets a cancellation of the context end the body, and the body's end end the limit.
    fileprivate func keepLimit(
        _ timer: any TimerToken, of context: Context,
        orThrow fault: @escaping @Sendable () -> ClientError
    ) {
        // What is small is read before anybody could look at the time.
        if let deadline = context.deadline, storage.length ?? .max > BodyExpiry.smallest {
            storage.expire(
                BodyExpiry(deadline: deadline, timeSource: context.timeSource, fault: fault))
        }
        // What has no content may have no end either.
        // All of it has come in time, however late it is read.
        if storage.isComplete { return timer.cancel() }
        let canceller = canceller
        let registration = context.onCancel { canceller.cancel($0) }
        onEnd { _ in
            timer.cancel()
            registration.end()
        }
    }
}
