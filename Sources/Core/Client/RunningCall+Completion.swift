// SPDX-License-Identifier: Apache-2.0

public import Dispatch

extension RunningCall {
    /// Calls a handler on a queue exactly once when the call has ended, even if it has already
    /// ended.
    ///
    /// Use it in code that is not asynchronous. The handler does not keep the call alive: call
    /// ``detach()`` if the handle may be released first.
    /// - Parameters:
    ///   - queue: The queue for the handler.
    ///   - handler: Receives the value or the error; `CancellationError` if the call was cancelled.
    public func onCompletion(
        queue: DispatchQueue = .main,
        _ handler: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        whenSettled { result in queue.async { handler(result) } }
    }
}

extension Call {
    /// Sends the request at once and calls a handler on a queue exactly once when the call has
    /// ended.
    ///
    /// ```swift
    /// client.get("users/1").onCompletion(.json, queue: .main) { result in show(result) }
    /// ```
    /// - Parameters:
    ///   - serializer: Converts the response into a value.
    ///   - queue: The queue for the handler.
    ///   - handler: Receives the value or the error.
    /// - Returns: A handle for cancelling the call. Releasing it does not cancel the call.
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
