import Synchronization

/// A handle to a call that is under way: its value, its state, its progress, its cancellation.
///
/// ```swift
/// let running = client.upload(.file(url), to: "files").start(.data)
/// for await progress in running.progress { show(progress.fractionSent) }
/// let answer = try await running.value
/// ```
///
/// Any number of tasks may await ``value``; cancelling one of them ends its wait alone. Letting go
/// of the handle cancels the call, unless it was told to ``detach()``.
public final class RunningCall<Value: Sendable>: Sendable {
    /// What a running call is doing.
    public enum State: Sendable, Hashable, CaseIterable {
        /// It is under way.
        case running
        /// Its value is there.
        case finished
        /// It failed.
        case failed
        /// It was cancelled.
        case cancelled

        /// Whether a call may go from this state to another.
        ///
        /// What is under way ends in one of three ways; what has ended stays as it is.
        public func canBecome(_ next: State) -> Bool {
            switch (self, next) {
            case (.running, .finished), (.running, .failed), (.running, .cancelled): true
            default: false
            }
        }
    }

    private let outcome: SharedValue<Value>
    private let record: CallRecord?
    // The call's own; a handle that is kept does not keep its call open.
    private weak let context: Context?
    private let task: Task<Void, Never>?
    private let isDetached = Atomic(false)

    /// The call's identifier, as logs show it; nil where the client refused the call.
    public let id: CallID?

    init(
        outcome: SharedValue<Value>, context: Context?, task: Task<Void, Never>?
    ) {
        self.outcome = outcome
        self.context = context
        self.task = task
        record = context?.call.record
        id = context?.id
    }

    deinit { if !isDetached.load(ordering: .relaxed) { cancel() } }

    /// The value of the call.
    /// - Throws: The call's error; `CancellationError` where the call, or the waiting task, was
    ///   cancelled.
    public var value: Value {
        get async throws { try await outcome.value() }
    }

    /// What the call is doing.
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

    /// When things happened in the call so far.
    public var timeline: Timeline { record?.timeline ?? Timeline() }

    /// How far the contents have come: the latest state whenever the reader is ready for one, up to
    /// the end of the call.
    public var progress: AsyncStream<TransferProgress> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: TransferProgress.self, bufferingPolicy: .bufferingNewest(1))
        record?.onProgress { continuation.yield($0) }
        outcome.whenSettled { continuation.finish() }
        return stream
    }

    /// Cancels the call.
    ///
    /// Its transfer ends, and who waits for it gets `CancellationError`.
    public func cancel() {
        guard outcome.settle(.failure(CancellationError())) else { return }
        context?.cancel(.handle)
        task?.cancel()
    }

    /// Lets the call go on when the handle is let go of.
    public func detach() { isDetached.store(true, ordering: .relaxed) }
}

extension Call {
    /// Sends the request at once and gives a handle to the call.
    public func start<Serializer: ResponseSerializer>(
        _ serializer: Serializer
    ) -> RunningCall<Serializer.Output> {
        let outcome = SharedValue<Serializer.Output>()
        let running: (plan: Plan, context: Context)
        do {
            running = try begin(for: serializer)
        } catch {
            outcome.settle(.failure(error))
            return RunningCall(outcome: outcome, context: nil, task: nil)
        }
        // Ended by the handle: its `cancel`, or its drop. Else it ends with the call.
        let task = Task.inheriting(immediately: false) { [self] in
            do {
                outcome.settle(.success(try await serialize(with: serializer, in: running)))
            } catch {
                outcome.settle(.failure(error))
            }
        }
        return RunningCall(outcome: outcome, context: running.context, task: task)
    }
}
