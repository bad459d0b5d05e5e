public import Dispatch

extension RunningCall {
    /// Calls a handler on a queue when the call has ended, however it ends: exactly once, also if
    /// it has ended already.
    ///
    /// It is for code that is not asynchronous yet. The handler does not keep the call going:
    /// whoever may let go of the handle first says ``detach()``.
    /// - Parameters:
    ///   - queue: Where the handler runs.
    ///   - handler: Gets the value or the error, `CancellationError` where the call was cancelled.
    public func onCompletion(
        queue: DispatchQueue = .main,
        _ handler: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        whenSettled { result in queue.async { handler(result) } }
    }
}

extension Call {
    /// Sends the request at once and calls a handler on a queue when the call has ended: exactly
    /// once.
    ///
    /// ```swift
    /// client.get("users/1").onCompletion(.json, queue: .main) { result in show(result) }
    /// ```
    /// - Parameters:
    ///   - serializer: What turns the response into a value.
    ///   - queue: Where the handler runs.
    ///   - handler: Gets the value or the error.
    /// - Returns: A handle, by which the call can be cancelled; it may be let go of.
    @discardableResult
    public func onCompletion<Serializer: ResponseSerializer>(
        _ serializer: Serializer, queue: DispatchQueue = .main,
        _ handler: @escaping @Sendable (Result<Serializer.Output, any Error>) -> Void
    ) -> RunningCall<Serializer.Output> {
        let running = start(serializer)
        running.detach()
        running.onCompletion(queue: queue, handler)
        return running
    }
}
