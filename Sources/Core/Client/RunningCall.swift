// SPDX-License-Identifier: Apache-2.0

public import Dispatch
import Synchronization
import TurnpikeSupport

/// A handle to a running call, with the call's value, state, progress and response head.
///
/// ```swift
/// let running = client.post("files/1?part=2", body: .file(part)).start(.data)
/// for await progress in running.progress { show(progress.fractionSent) }
/// let answer = try await running.value
/// let tag = running.head?.headers[.eTag]
/// ```
///
/// Any number of tasks may await ``value``. If one of these tasks is cancelled, only its own wait
/// ends. If the handle is released, the call is cancelled, unless ``detach()`` was called.
public final class RunningCall<Value: Sendable>: Sendable {
    /// The state of a call, which changes once, from `running` to one of the other three.
    public enum State: Sendable, Hashable, CaseIterable {
        /// The call is running.
        case running
        /// The value is available.
        case finished
        /// The call failed.
        case failed
        /// The call was cancelled.
        case cancelled
    }

    private let outcome: SharedValue<Value>
    private let record: CallRecord?
    // The reference is weak, so that a stored handle does not keep its call open.
    private weak let context: Context?
    private let task: Task<Void, Never>?
    private let isDetached = Atomic(false)
    private let received: ReceivedHead

    /// The call's identifier in logs; nil if the client rejected the call.
    public let id: CallID?

    init(
        outcome: SharedValue<Value>, received: ReceivedHead, context: Context?,
        task: Task<Void, Never>?
    ) {
        self.outcome = outcome
        self.received = received
        self.context = context
        self.task = task
        record = context?.call.record
        id = context?.id
    }

    deinit { if !isDetached.load(ordering: .relaxed) { cancel() } }

    /// The value of the call.
    /// - Throws: The error of the call, or `CancellationError` if the call or the waiting task was
    ///   cancelled.
    public var value: Value {
        get async throws { try await outcome.value() }
    }

    /// The current state.
    public var state: State {
        switch outcome.result {
        case nil: .running
        case .success: .finished
        case .failure(is CancellationError): .cancelled
        case .failure: .failed
        }
    }

    func whenSettled(_ handler: @escaping @Sendable (Result<Value, any Error>) -> Void) {
        outcome.whenSettled { [outcome] in
            if let result = outcome.result { handler(result) }
        }
    }

    /// The head of the response from which the value is made, after all redirects and retries.
    ///
    /// The head is nil until this response arrives. If the call fails, ``ClientError/response`` may
    /// have the head.
    public var head: ResponseHead? { received.head }

    /// The times of the events of the call so far.
    public var timeline: Timeline { record?.timeline ?? Timeline() }

    /// The progress of the transfers until the call ends; a slow reader gets only the latest value.
    public var progress: AsyncStream<TransferProgress> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: TransferProgress.self, bufferingPolicy: .bufferingNewest(1))
        record?.onProgress { continuation.yield($0) }
        outcome.whenSettled { continuation.finish() }
        return stream
    }

    /// Cancels the call; all tasks that await ``value`` get `CancellationError`.
    public func cancel() {
        guard outcome.settle(.failure(CancellationError())) else { return }
        context?.cancel(.handle)
        task?.cancel()
    }

    /// Lets the call continue when the handle is released.
    public func detach() { isDetached.store(true, ordering: .relaxed) }
}

extension Call {
    /// Sends the request at once and returns a handle to the call.
    public func start<Serializer: ResponseSerializer>(
        _ serializer: Serializer
    ) -> RunningCall<Serializer.Output> {
        let outcome = SharedValue<Serializer.Output>()
        let received = ReceivedHead()
        let running: (plan: Plan, context: Context)
        do {
            running = try begin(for: serializer)
        } catch {
            outcome.settle(.failure(error))
            return RunningCall(outcome: outcome, received: received, context: nil, task: nil)
        }
        // The handle's `cancel` or release ends this task, or the task ends with the call.
        let task = Task.inheriting(immediately: false) { [self] in
            do {
                let value = try await serialized(
                    with: serializer, in: running, onResponse: received.receive
                ).value
                outcome.settle(.success(value))
            } catch {
                outcome.settle(.failure(error))
            }
        }
        return RunningCall(
            outcome: outcome, received: received, context: running.context, task: task)
    }
}

final class ReceivedHead: Sendable {
    private let state = Mutex<ResponseHead?>(nil)

    var head: ResponseHead? { state.withLock { $0 } }

    func receive(_ response: Response) { state.withLock { $0 = response.head } }
}

extension RunningCall {
    /// Calls a handler on a queue once when the call has ended, or now if it has already ended.
    ///
    /// The handler does not keep the call alive. If the handle may be released first, call
    /// ``detach()``.
    /// - Parameters:
    ///   - queue: The queue for the handler.
    ///   - handler: Receives the value or the error. If the call was cancelled, the error is
    ///     `CancellationError`.
    public func onCompletion(
        queue: DispatchQueue = .main,
        _ handler: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        whenSettled { result in queue.async { handler(result) } }
    }
}

extension Call {
    /// Sends the request at once, and calls a handler once on a queue when the call has ended.
    ///
    /// ```swift
    /// client.get("users/1").onCompletion(.json, queue: .main) { result in show(result) }
    /// ```
    /// - Parameters:
    ///   - serializer: Converts the response into a value.
    ///   - queue: The queue for the handler.
    ///   - handler: Receives the value or the error.
    /// - Returns: A handle for cancelling the call. If the handle is released, the call continues.
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
