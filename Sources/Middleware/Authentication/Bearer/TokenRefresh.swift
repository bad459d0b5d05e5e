// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// One refresh, which is settled once and awaited by any number of calls.
final class TokenRefresh: Sendable {
    /// The generation of the token to replace.
    let generation: UInt64
    /// The scope that the provider was created to request.
    let requestedScope: [String]
    /// Whether it only looks at what other replicas have; the present token may be used.
    let isLook: Bool
    /// When it began.
    let begin: MonotonicInstant
    private let timeSource: any TimeSource
    private let outcome = SharedValue<Void>()

    init(
        replacing generation: UInt64, requestedScope: [String], isLook: Bool,
        timeSource: any TimeSource
    ) {
        self.generation = generation
        self.requestedScope = requestedScope
        self.isLook = isLook
        self.timeSource = timeSource
        begin = timeSource.now
    }

    /// Ends the refresh; only the first end counts.
    func settle(_ result: Result<Void, any Error>) { outcome.settle(result) }

    func whenSettled(_ handler: @escaping @Sendable () -> Void) { outcome.whenSettled(handler) }

    /// Waits for the end, at most until the task or the context is cancelled, or the rest of a
    /// limit has passed.
    func wait(in context: Context, until left: Duration, of limit: Duration) async throws {
        var registration: CancelRegistration?
        var timer: (any TimerToken)?
        defer {
            registration?.end()
            timer?.cancel()
        }
        try await outcome.value { waiter in
            registration = context.onCancel { waiter.settle(.failure($0.error)) }
            timer = timeSource.schedule(after: left) {
                waiter.settle(.failure(TokenState.failure(Self.late(limit))))
            }
        }
    }

    /// Waits for the end, whether the refresh succeeds or fails; a cancellation does not end the
    /// wait.
    func end(within limit: Duration) async {
        let waiter = OneShot<Void>()
        outcome.whenSettled { waiter.settle(.success(())) }
        let timer = timeSource.schedule(after: limit) { waiter.settle(.success(())) }
        defer { timer.cancel() }
        try? await waiter.value {}
    }

    /// The error of a call that has waited too long.
    static func late(_ limit: Duration) -> ClientError {
        ClientError(.auth, "the token's refresh took longer than \(limit.text)")
    }
}
