// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeSharedState
@testable import TurnpikeTraffic

/// A store in memory that is slow or away when a test says so.
final class FaultyStore: SharedStore {
    struct State {
        var delay = Duration.zero
        var isAway = false
        var takes = 0
        var returned = 0
    }

    struct Away: Error {}

    let memory: MemorySharedStore
    let clock: any TimeSource
    private let state = Mutex(State())

    init(_ clock: any TimeSource, delay: Duration = .zero) {
        self.clock = clock
        memory = MemorySharedStore(timeSource: clock)
        state.withLock { $0.delay = delay }
    }

    var takes: Int { state.withLock { $0.takes } }
    var returned: Int { state.withLock { $0.returned } }
    func set(delay: Duration = .zero, isAway: Bool = false) {
        state.withLock {
            $0.delay = delay
            $0.isAway = isAway
        }
    }

    /// What is left of the quota of an origin.
    func left(_ rules: [QuotaRule], of origin: String = "http://a.example", rule: Int = 0) -> Double
    {
        memory.permitsLeft(of: "default|\(origin)", rule: rule, rules: rules) ?? -1
    }

    // The answer is decided half way.
    private func pass<Value: Sendable>(
        _ decide: @escaping @Sendable () async -> Value
    ) async throws -> Value {
        let (delay, isAway) = state.withLock { ($0.delay, $0.isAway) }
        try await wait(delay * 0.5)
        if isAway { throw Away() }
        let value = await decide()
        try await wait(delay * 0.5)
        return value
    }

    private func wait(_ duration: Duration) async throws {
        if duration <= .zero { return }
        let moment = OneShot<Void>()
        _ = clock.schedule(after: duration) { moment.settle(.success(())) }
        try await moment.value { moment.settle(.failure(CancellationError())) }
    }

    func take(_ request: QuotaRequest) async throws -> QuotaAnswer {
        state.withLock { $0.takes += 1 }
        return try await pass { [memory] in await memory.take(request) }
    }

    func giveBack(_ permits: Int, to key: String, rules: [QuotaRule]) async throws {
        try await pass { [memory] in await memory.giveBack(permits, to: key, rules: rules) }
        state.withLock { $0.returned += permits }
    }

    func lower(to remaining: Double, of key: String, rule: Int, rules: [QuotaRule]) async throws {
        try await pass { [memory] in
            await memory.lower(to: remaining, of: key, rule: rule, rules: rules)
        }
    }

    func coolDown(for duration: Duration, _ key: String) async throws {
        try await pass { [memory] in await memory.coolDown(for: duration, key) }
    }

    func cooldown(of key: String) async throws -> Duration? {
        try await pass { [memory] in await memory.cooldown(of: key) }
    }

    func token(_ key: String) async throws -> StoredToken? { await memory.token(key) }

    func store(_ token: StoredToken, _ key: String, for lifetime: Duration?) async throws -> Bool {
        await memory.store(token, key, for: lifetime)
    }

    func lock(_ key: String, for duration: Duration) async throws -> LockAnswer {
        await memory.lock(key, for: duration)
    }

    func unlock(_ lock: SharedLock) async throws { await memory.unlock(lock) }

    func beat(_ replica: String, of group: String, for lifetime: Duration) async throws -> Int {
        try await pass { [memory] in await memory.beat(replica, of: group, for: lifetime) }
    }
}

extension Simulation {
    /// A client whose server answers at once.
    func client(_ stack: Stack) -> Client {
        Client(MockTransport { _ in .ok() }, clock: clock, stack)
    }
}

/// Replicas of a service in one process, and when their requests have arrived.
struct Fleet {
    let clients: [Client]
    let limits: [any RateLimiting]
    let arrivals = Arrivals()

    init(
        _ count: Int, _ store: any SharedStore, _ clock: any TimeSource,
        fixed: Bool = true, respond: @escaping @Sendable (Request) -> MockResponse = { _ in .ok() },
        _ limit: (SharedState) -> any RateLimiting
    ) {
        let arrivals = arrivals
        limits = (0..<count).map { number in
            limit(
                SharedState(
                    store, replicas: fixed ? count : nil, replica: "replica \(number)"))
        }
        clients = limits.enumerated().map { number, limit in
            Client(
                MockTransport { request in
                    arrivals.add(number, request, at: clock.now)
                    return respond(request)
                }, clock: clock, Stack([limit]))
        }
    }
}

extension Fleet {
    var shared: [SharedRateLimit] { limits.compactMap { $0 as? SharedRateLimit } }
}

extension RateLimiting {
    /// How many calls wait.
    var waiting: Int { limiter.waitingCount }
}

extension SharedRateLimit {
    /// How many permits are reserved in the store.
    var reservedCount: Int {
        limiter.keys { !$0.reserved.isEmpty }.reduce(0) {
            $0 + (limiter.change($1) { permits, _ in permits.reserved.count } ?? 0)
        }
    }
}

/// A limit over a store, or one of this process.
func makeLimit(
    _ rules: [QuotaRule], queue: Int = 1000, over shared: SharedState?,
    cooldowns: Cooldowns? = nil
) -> any RateLimiting {
    if let shared {
        SharedRateLimit(rules, queue: queue, shared: shared, cooldowns: cooldowns)
    } else {
        RateLimit(rules, queue: queue, cooldowns: cooldowns)
    }
}

/// When which replica's requests arrived.
final class Arrivals: Sendable {
    private let all = Mutex<[(replica: Int, path: String, at: Int64)]>([])

    func add(_ replica: Int, _ request: Request, at now: MonotonicInstant) {
        all.withLock { $0.append((replica, request.url.path, now.nanoseconds)) }
    }

    var count: Int { all.withLock { $0.count } }
    var paths: [String] { all.withLock { $0.map(\.path) } }
    func count(of replica: Int) -> Int { all.withLock { $0.count { $0.replica == replica } } }

    /// The most arrivals in any time of this length.
    func most(in window: Duration) -> Int {
        let times = all.withLock { $0.map(\.at).sorted() }
        var first = 0
        var most = 0
        for last in times.indices {
            while times[last] - times[first] >= window.wholeNanoseconds { first += 1 }
            most = max(most, last - first + 1)
        }
        return most
    }

    /// How many arrived from one time to another.
    func count(from start: Duration, to end: Duration) -> Int {
        all.withLock {
            $0.count { $0.at >= start.wholeNanoseconds && $0.at < end.wholeNanoseconds }
        }
    }
}
