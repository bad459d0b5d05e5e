// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
public import TurnpikeSharedState
import TurnpikeSupport
public import TurnpikeTraffic

/// Wraps a store of shared state and adds latency, losses, errors and outages according to a seed.
///
/// ```swift
/// let store = FaultySharedStore(
///     MemorySharedStore(timeSource: simulation.clock), seed: 7, timeSource: simulation.clock,
///     latency: .logNormal(median: .milliseconds(1), p99: .milliseconds(30)), losses: 0.01,
///     outages: [.init(after: .seconds(10), for: .seconds(5))])
/// ```
///
/// Half of the latency passes before the operation of the wrapped store, and half of the latency
/// passes afterwards. An operation may therefore take effect although the caller has stopped
/// waiting. The same seed and the same order of operations produce the same faults. In a
/// ``Simulation``, runs are equal.
public final class FaultySharedStore: SharedStore {
    /// A time during which a store is unreachable or slow.
    public struct Outage: Sendable, Hashable {
        /// The effect of an outage on operations.
        public enum Kind: Sendable, Hashable {
            /// Operations fail at once, as without a running server.
            case refusal
            /// Operations get no answer, as with a stopped server or a broken network.
            case silence
            /// Operations take longer by this time.
            case delay(Duration)
        }

        /// The time between the creation of the store and the outage.
        public var begin: Duration
        /// The length of the outage.
        public var duration: Duration
        /// The effect on operations.
        public var kind: Kind

        /// Creates an outage.
        public init(after begin: Duration, for duration: Duration, _ kind: Kind = .refusal) {
            self.begin = begin
            self.duration = duration
            self.kind = kind
        }
    }

    private struct State {
        var generator: SeededGenerator
        var present: Outage.Kind?
        var operations = 0
        var failures = 0
    }

    private struct Fate {
        let latency: Duration
        let isRefused: Bool
        let losesRequest: Bool
        let losesAnswer: Bool
    }

    private let wrapped: any SharedStore
    private let timeSource: any TimeSource
    private let start: MonotonicInstant
    private let latency: MockLatency
    private let losses: Double
    private let errors: Double
    private let outages: [Outage]
    private let patience: Duration
    private let state: Mutex<State>

    /// Creates a store.
    /// - Parameters:
    ///   - store: The store with the state.
    ///   - seed: Decides the faults.
    ///   - timeSource: The clock of latencies and outages.
    ///   - latency: The duration of an operation, including the response.
    ///   - losses: The share of operations without an answer. Half of these operations take effect.
    ///   - errors: The share of operations that fail and take no effect.
    ///   - outages: The times when the store is unreachable or slow.
    ///   - patience: The time after which an operation without an answer fails.
    public init(
        _ store: any SharedStore, seed: UInt64, timeSource: any TimeSource,
        latency: MockLatency = .none, losses: Double = 0, errors: Double = 0,
        outages: [Outage] = [], patience: Duration = .seconds(2)
    ) {
        wrapped = store
        self.timeSource = timeSource
        start = timeSource.now
        self.latency = latency
        self.losses = losses
        self.errors = errors
        self.outages = outages
        self.patience = patience
        state = Mutex(State(generator: SeededGenerator(seed: seed)))
    }

    /// The number of operations that have begun.
    public var operationCount: Int { state.withLock { $0.operations } }

    /// The number of operations that have failed.
    public var failureCount: Int { state.withLock { $0.failures } }

    /// Begins an outage now, or ends the current outage if `kind` is nil.
    public func setOutage(_ kind: Outage.Kind?) { state.withLock { $0.present = kind } }

    // MARK: Operations

    /// Takes all requested permits, or no permit.
    public func take(_ request: QuotaRequest) async throws -> QuotaAnswer {
        try await pass { try await $0.take(request) }
    }

    /// Gives permits back.
    public func giveBack(_ permits: Int, to key: String, rules: [QuotaRule]) async throws {
        try await pass { try await $0.giveBack(permits, to: key, rules: rules) }
    }

    /// Lowers the remaining permits of one rule.
    public func lower(
        to remaining: Double, of key: String, rule: Int, rules: [QuotaRule]
    ) async throws {
        try await pass { try await $0.lower(to: remaining, of: key, rule: rule, rules: rules) }
    }

    /// Begins or prolongs a cool-down.
    public func coolDown(for duration: Duration, _ key: String) async throws {
        try await pass { try await $0.coolDown(for: duration, key) }
    }

    /// The remaining time of a cool-down.
    public func cooldown(of key: String) async throws -> Duration? {
        try await pass { try await $0.cooldown(of: key) }
    }

    /// The content under a key.
    public func token(_ key: String) async throws -> StoredToken? {
        try await pass { try await $0.token(key) }
    }

    /// Replaces the content under a key.
    public func store(
        _ token: StoredToken, _ key: String, for lifetime: Duration?
    ) async throws -> Bool {
        try await pass { try await $0.store(token, key, for: lifetime) }
    }

    /// Takes a lock.
    public func lock(_ key: String, for duration: Duration) async throws -> LockAnswer {
        try await pass { try await $0.lock(key, for: duration) }
    }

    /// Ends a lock.
    public func unlock(_ lock: SharedLock) async throws {
        try await pass { try await $0.unlock(lock) }
    }

    /// Reports that a replica is running.
    public func beat(
        _ replica: String, of group: String, for lifetime: Duration
    ) async throws -> Int {
        try await pass { try await $0.beat(replica, of: group, for: lifetime) }
    }

    // MARK: Faults

    private func pass<Answer: Sendable>(
        _ operation: (any SharedStore) async throws -> Answer
    ) async throws -> Answer {
        let fate = draw()
        do {
            try await away()
            if fate.losesRequest { try await lose() }
            let latency = fate.latency + delay
            try await pause(latency / 2)
            try await away()
            if fate.isRefused { throw ClientError(.connection, "the plan makes the store fail") }
            let answer = try await operation(wrapped)
            if fate.losesAnswer { try await lose() }
            try await pause(latency / 2)
            try await away()
            return answer
        } catch {
            state.withLock { $0.failures += 1 }
            throw error
        }
    }

    private func draw() -> Fate {
        state.withLock { state in
            state.operations += 1
            let latency = latency.at(share: state.generator.unit())
            let isRefused = state.generator.unit() < errors
            let isLost = state.generator.unit() < losses
            let hasEffect = state.generator.unit() < 0.5
            return Fate(
                latency: latency, isRefused: isRefused, losesRequest: isLost && !hasEffect,
                losesAnswer: isLost && hasEffect)
        }
    }

    private var outage: Outage.Kind? {
        if let present = state.withLock({ $0.present }) { return present }
        let elapsed = start.duration(to: timeSource.now)
        let planned = outages.first { outage in
            elapsed >= outage.begin && elapsed < outage.begin + outage.duration
        }
        return planned?.kind
    }

    private var delay: Duration { if case .delay(let delay) = outage { delay } else { .zero } }

    private func away() async throws {
        switch outage {
        case .refusal: throw ClientError(.connection, "the plan refuses the connection")
        case .silence: try await lose()
        case .delay, nil: break
        }
    }

    private func lose() async throws {
        try await pause(patience)
        throw ClientError(.idleTimeout, "the plan loses the answer")
    }

    private func pause(_ duration: Duration) async throws {
        guard duration > .zero else { return }
        let moment = OneShot<Void>()
        let timer = timeSource.schedule(after: duration) { moment.settle(.success(())) }
        defer { timer.cancel() }
        try await moment.value { moment.settle(.failure(CancellationError())) }
    }
}
