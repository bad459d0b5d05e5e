// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// One request for a list, which is settled once and awaited by any number of calls.
final class ListRefresh: Sendable {
    /// Says that the request was ended before its list came; who waits begins another.
    struct Ended: Error {}

    let resolver: any EndpointResolver
    /// The context of the resolver, which belongs to no call: it outlives the call that begins it.
    let context: Context
    /// A random number in 0..<1 for the time of the next request.
    let jitter: Double
    private let outcome = SharedValue<Void>()

    init(_ resolver: any EndpointResolver, in context: Context, jitter: Double) {
        self.resolver = resolver
        self.jitter = jitter
        self.context = Context(
            timeSource: context.timeSource,
            randomSource: context.call.environment.randomSource)
    }

    func settle(_ result: Result<Void, any Error>) { outcome.settle(result) }

    func whenSettled(_ handler: @escaping @Sendable () -> Void) { outcome.whenSettled(handler) }

    /// Waits for the end, at most until the task or the context of the call is cancelled.
    func wait(in context: Context) async throws {
        var registration: CancelRegistration?
        defer { registration?.end() }
        try await outcome.value { waiter in
            registration = context.onCancel { waiter.settle(.failure($0.error)) }
        }
    }
}
