// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The state of the list requests, and the time of the next request.
struct SourceState {
    private(set) var refresh: ListRefresh?
    /// The error of the last refresh, or nil if the refresh returned a list.
    private(set) var failure: (any Error)?
    private var failures = 0
    // The time of the next request, or nil for never.
    private var askAt: MonotonicInstant? = MonotonicInstant(nanoseconds: .min)
    // The number of abandoned requests to a resolver that has not returned yet.
    private var strayCount = 0

    // Limits the calls to a resolver that ignores the cancellation and does not return.
    private static let maxStrays = 4

    /// The time of the next request, or nil during a request or without a time limit of the list.
    var dueAt: MonotonicInstant? {
        refresh == nil && strayCount < Self.maxStrays ? askAt : nil
    }

    func isDue(at now: MonotonicInstant) -> Bool { dueAt.map { now >= $0 } ?? false }

    mutating func begin(
        _ resolver: any EndpointResolver, in context: Context, jitter: Double
    ) -> ListRefresh {
        let refresh = ListRefresh(resolver, in: context, jitter: jitter)
        self.refresh = refresh
        strayCount += 1
        return refresh
    }

    mutating func didReturn() { strayCount -= 1 }

    /// Ends and returns the running request, which the caller must settle.
    mutating func end(asksAgain: Bool) -> ListRefresh? {
        if asksAgain || refresh != nil { askAt = MonotonicInstant(nanoseconds: .min) }
        defer { refresh = nil }
        return refresh
    }

    /// Records the arrival of a list that is valid for a time.
    ///
    /// The next list is requested up to a fifth earlier, at a random time. Many clients therefore
    /// do not send requests at the same time.
    mutating func succeed(holding time: Duration?, at now: MonotonicInstant) {
        let jitter = refresh?.jitter ?? 0
        refresh = nil
        failure = nil
        failures = 0
        askAt = time.map { now.advanced(by: Self.part(1 - 0.2 * jitter, of: $0)) }
    }

    // Records a failed refresh. The wait for the next refresh is 1 s, doubles up to 30 s, and is
    // reduced by a random part of up to a half.
    mutating func fail(_ error: any Error, at now: MonotonicInstant) {
        let jitter = refresh?.jitter ?? 0
        refresh = nil
        failure = error
        let wait = Duration.seconds(min(1 << min(failures, 5), 30))
        failures += 1
        askAt = now.advanced(by: Self.part(1 - 0.5 * jitter, of: wait))
    }

    private static func part(_ part: Double, of time: Duration) -> Duration {
        // The minimum of a millisecond prevents a busy loop for a list without validity.
        min(max(time, .milliseconds(1)), .seconds(1 << 32)) * part
    }
}

/// One request for a list, for which any number of calls may wait.
final class ListRefresh: Sendable {
    // The request ended before the list arrived. A waiting call begins another request.
    struct Ended: Error {}

    let resolver: any EndpointResolver
    /// The context of the resolver, which outlives the call that begins the request.
    let context: Context
    /// A random number in 0..<1 for the time of the next request.
    let jitter: Double
    private let outcome = SharedValue<Void>()

    init(_ resolver: any EndpointResolver, in context: Context, jitter: Double) {
        self.resolver = resolver
        self.jitter = jitter
        self.context = Context(
            timeSource: context.timeSource,
            randomSource: SeededRandomSource(seed: context.random.next()))
    }

    func settle(_ result: Result<Void, any Error>) { outcome.settle(result) }

    func whenSettled(_ handler: @escaping @Sendable () -> Void) { outcome.whenSettled(handler) }

    func wait(in context: Context) async throws {
        var registration: CancelRegistration?
        defer { registration?.end() }
        try await outcome.value { waiter in
            registration = context.onCancel { waiter.settle(.failure($0.error)) }
        }
    }
}
