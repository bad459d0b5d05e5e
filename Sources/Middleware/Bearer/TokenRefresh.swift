import TurnpikeCore

/// One refresh: settled once, awaited by any number of calls.
final class TokenRefresh: Sendable {
    private let outcome = SharedValue<Void>()

    /// Ends the refresh; only the first end counts.
    func settle(_ result: Result<Void, any Error>) { outcome.settle(result) }

    func whenSettled(_ handler: @escaping @Sendable () -> Void) { outcome.whenSettled(handler) }

    /// Waits for the end, but not beyond a cancellation of the task or the context.
    func wait(in context: Context) async throws {
        let waiter = OneShot<Void>()
        outcome.whenSettled { [outcome] in waiter.settle(outcome.result ?? .success(())) }
        let registration = context.onCancel { waiter.settle(.failure($0.error)) }
        defer { registration.end() }
        try await waiter.value { waiter.settle(.failure(CancellationError())) }
    }
}
