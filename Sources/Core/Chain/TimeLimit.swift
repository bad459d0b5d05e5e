// SPDX-License-Identifier: Apache-2.0

extension Next {
    /// Runs the inner gates with a time limit.
    ///
    /// ```swift
    /// try await next(request, within: .seconds(5)) { limit in
    ///     ClientError(.deadlineExceeded, "the call took longer than \(limit)")
    /// }
    /// ```
    ///
    /// When the limit ends, the caller gets the error at once. The limit cancels the context, which
    /// ends sends, waits and bodies in the inner gates. The limit also cancels the task of the
    /// inner gates, if the inner gates run in a separate task. Nothing is sent after the limit.
    /// - Parameters:
    ///   - request: The request.
    ///   - limit: The time limit.
    ///   - isUpToHead: Whether the time stops when the response head arrives. If false, the time
    ///     runs until the body is complete.
    ///   - fault: Creates the error for the end of the limit.
    /// - Returns: The response.
    /// - Throws: The error of the inner gates, or the error of the limit.
    public func callAsFunction(
        _ request: Request, within limit: Duration, upToHead isUpToHead: Bool = false,
        orThrow fault: @escaping @Sendable (_ limit: Duration) -> ClientError
    ) async throws -> Response {
        let inner = context.child(within: limit, upToHead: isUpToHead, orThrow: fault)
        return try await promptly(request, in: inner)
    }

    /// Runs the inner gates, and returns at once if the context or the task is cancelled.
    ///
    /// The caller does not wait for an inner gate that ignores the cancellation. Gates that react
    /// to a cancellation (``PromptlyCancellable``) run in the caller's task. If an inner gate may
    /// not react, the inner gates run in one child task. Use this method in a gate that cancels a
    /// ``Context/child(deadline:)`` by another rule.
    /// - Parameters:
    ///   - request: The request.
    ///   - inner: A child of the context that is used only for the inner gates.
    /// - Returns: The response.
    /// - Throws: The error of the inner gates, or the error of the cancellation.
    public func promptly(_ request: Request, in inner: Context) async throws -> Response {
        var result: Result<Response, any Error>
        do {
            result = .success(
                plan.endsPromptly(from: position)
                    ? try await self(request, context: inner)
                    : try await plan.runInTask(request, from: position, in: inner))
        } catch {
            result = .failure(error)
        }
        inner.finish(&result)
        return try result.get()
    }
}

extension Context {
    /// Creates a child with a time limit, for a ``PhasedInterceptor``.
    ///
    /// The limit acts like ``Next/callAsFunction(_:within:upToHead:orThrow:)``. Pass the child to
    /// the inner gates at once, because the time starts when the child is created.
    /// - Parameters:
    ///   - limit: The time limit.
    ///   - isUpToHead: Whether the time stops when the response head arrives. If false, the time
    ///     runs until the body is complete.
    ///   - fault: Creates the error for the end of the limit.
    /// - Returns: The child.
    public func child(
        within limit: Duration, upToHead isUpToHead: Bool = false,
        orThrow fault: @escaping @Sendable (_ limit: Duration) -> ClientError
    ) -> Context {
        let inner =
            isUpToHead ? childUpToHead() : child(deadline: timeSource.now.advanced(by: limit))
        // The timer may fire before `schedule` returns.
        unsafe inner.limit = ContextLimit(
            duration: limit, isUpToHead: isUpToHead, makeFault: fault)
        unsafe inner.timer = timeSource.schedule(after: limit) { inner.expire() }
        return inner
    }

    private func expire() {
        guard let fault = unsafe limit?.fault else { return }
        if fault.code == .deadlineExceeded { call.record.deadlinePasses() }
        cancel(.expired(fault))
    }

    /// Stops the timer; if the context was cancelled, the error of the reason replaces the result.
    func finish(_ result: inout Result<Response, any Error>) {
        switch result {
        case .failure:
            unsafe timer?.cancel()
            if !Task.isCancelled, let reason = cancelReason { result = .failure(reason.error) }
        case .success(let response):
            // An inner gate may have caught the error of the cancellation and returned a response.
            if let reason = cancelReason {
                unsafe timer?.cancel()
                response.body.cancel(.drop)
                result = .failure(reason.error)
            } else if let limit = unsafe limit, let timer = unsafe timer {
                if limit.isUpToHead { return timer.cancel() }
                response.body.keepLimit(limit, timer, of: self)
            }
        }
    }
}

struct ContextLimit: Sendable {
    let duration: Duration
    let isUpToHead: Bool
    let makeFault: @Sendable (Duration) -> ClientError

    var fault: ClientError { makeFault(duration) }
}

extension ResponseBody {
    /// Ends the body when the context is cancelled, and stops the timer when the body ends.
    fileprivate func keepLimit(
        _ limit: ContextLimit, _ timer: any TimerToken, of context: Context
    ) {
        // For a small body, the check takes longer than the read.
        if let deadline = context.deadline, storage.length ?? .max > ResponseBodyExpiry.smallest {
            storage.expire(
                ResponseBodyExpiry(deadline: deadline, timeSource: context.timeSource) {
                    limit.fault
                })
        }
        // The body arrived in time, even if the caller reads it later.
        if storage.arrival != .underWay { return timer.cancel() }
        let canceller = canceller
        let registration = context.onCancel { canceller.cancel($0) }
        onEnd { _ in
            timer.cancel()
            registration.end()
        }
    }
}
