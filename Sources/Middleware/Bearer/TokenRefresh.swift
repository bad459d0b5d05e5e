import TurnpikeCore

/// One refresh: settled once, awaited by any number of calls.
final class TokenRefresh: Sendable {
    // Whether it came to an end of its own.
    private let outcome = SharedValue<Bool>()

    /// Ends the refresh; only the first end counts.
    func settle(_ result: Result<Void, any Error>) { outcome.settle(result.map { true }) }

    /// Ends the refresh without an outcome: the client that it was begun for has ended.
    func abandon() { outcome.settle(.success(false)) }

    func whenSettled(_ handler: @escaping @Sendable () -> Void) { outcome.whenSettled(handler) }

    /// Waits for the end, but not beyond a cancellation of the task or the context.
    /// - Returns: Whether it had an outcome; else another one is to be begun.
    func wait(in context: Context) async throws -> Bool {
        let waiter = OneShot<Bool>()
        outcome.whenSettled { [outcome] in waiter.settle(outcome.result ?? .success(false)) }
        let registration = context.onCancel { waiter.settle(.failure($0.error)) }
        defer { registration.end() }
        return try await waiter.value { waiter.settle(.failure(CancellationError())) }
    }
}
