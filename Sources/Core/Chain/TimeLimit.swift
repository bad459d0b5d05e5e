// SPDX-License-Identifier: Apache-2.0

extension Next {
    /// Runs the rest of the chain with a time limit.
    ///
    /// ```swift
    /// try await next(request, within: .seconds(5)) { limit in
    ///     ClientError(.deadlineExceeded, "the call took longer than \(limit)")
    /// }
    /// ```
    ///
    /// At the limit, the caller gets the error at once. Cancelling the context ends sends, waits
    /// and bodies in the rest of the chain; cancelling the task ends whatever other gates await.
    /// Nothing is sent afterwards.
    /// - Parameters:
    ///   - request: The request.
    ///   - limit: The time limit.
    ///   - isUpToHead: Whether the limit ends with the head of the response; otherwise it runs
    ///     until the body is complete.
    ///   - fault: Creates the error for the limit.
    /// - Returns: The response.
    /// - Throws: The error of the rest of the chain, or of the limit.
    public func callAsFunction(
        _ request: Request, within limit: Duration, upToHead isUpToHead: Bool = false,
        orThrow fault: @escaping @Sendable (_ limit: Duration) -> ClientError
    ) async throws -> Response {
        let timeSource = context.timeSource
        let inner =
            isUpToHead
            ? context.childUpToHead()
            : context.child(deadline: timeSource.now.advanced(by: limit))
        let timer = timeSource.schedule(after: limit) {
            let fault = fault(limit)
            if fault.code == .deadlineExceeded { inner.call.record.deadlinePasses() }
            inner.cancel(.expired(fault))
        }
        do {
            let response = try await promptly(request, in: inner)
            if isUpToHead {
                timer.cancel()
            } else {
                response.body.keepLimit(timer, of: inner) { fault(limit) }
            }
            return response
        } catch {
            timer.cancel()
            throw error
        }
    }

    /// Runs the rest of the chain so that the caller returns at once when the context or the task
    /// is cancelled, even if an inner gate ignores the cancellation.
    ///
    /// Gates that are known to react (``PromptlyCancellable``) run directly; otherwise the rest of
    /// the chain runs in one child task. For gates that cancel ``Context/child(deadline:)`` by a rule
    /// of their own.
    /// - Parameters:
    ///   - request: The request.
    ///   - inner: A child of the context, used only for the rest of the chain.
    /// - Returns: The response.
    /// - Throws: The error of the rest of the chain, or of the cancellation.
    public func promptly(_ request: Request, in inner: Context) async throws -> Response {
        let response: Response
        do {
            if plan.endsPromptly(from: position) {
                response = try await self(request, context: inner)
            } else {
                response = try await inner.running {
                    try await self(request, context: inner)
                } orAbandoning: {
                    $0.body.cancel(.drop)
                }
            }
        } catch {
            // The error of the limit takes precedence over the errors that the cancellation caused.
            if !Task.isCancelled, let reason = inner.cancelReason { throw reason.error }
            throw error
        }
        // An inner gate may have turned the cancellation into a response.
        guard let reason = inner.cancelReason else { return response }
        response.body.cancel(.drop)
        throw reason.error
    }
}

extension ResponseBody {
    /// Ends the body when the context is cancelled, and the time limit when the body ends.
    fileprivate func keepLimit(
        _ timer: any TimerToken, of context: Context,
        orThrow fault: @escaping @Sendable () -> ClientError
    ) {
        // A small body needs no check: it is read faster than the time could be checked.
        if let deadline = context.deadline, storage.length ?? .max > ResponseBodyExpiry.smallest {
            storage.expire(
                ResponseBodyExpiry(deadline: deadline, timeSource: context.timeSource, fault: fault)
            )
        }
        // The body arrived in time, even if it is read later.
        if storage.arrival != .underWay { return timer.cancel() }
        let canceller = canceller
        let registration = context.onCancel { canceller.cancel($0) }
        onEnd { _ in
            timer.cancel()
            registration.end()
        }
    }
}
