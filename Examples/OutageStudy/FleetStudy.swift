// SPDX-License-Identifier: Apache-2.0

import Foundation
import StudySupport
import Synchronization
import Turnpike
import TurnpikeCore
import TurnpikeSharedState
import TurnpikeTesting
import TurnpikeTraffic

/// The clients in 20 processes, whose breakers and retry budgets are local or belong to the fleet.
struct FleetStudy: Sendable {
    /// Where the state of breakers and budgets is.
    enum Sharing: String, CaseIterable, Sendable {
        /// Each process has its own state.
        case local
        /// All clients have one object, which no store can do better.
        case atOnce = "one object for all"
        /// The breakers of the processes share a circuit over a store; budgets are local.
        case store = "over a store"
    }

    /// When a circuit opens, and for how long.
    struct Rules: Sendable {
        let minimum: Int
        let window: Int
        let open: Int
        let maxOpen: Int

        var name: String { "\(minimum) in \(window) s, open \(open)-\(maxOpen) s" }
    }

    static let rules = [
        Rules(minimum: 5, window: 10, open: 2, maxOpen: 8),
        Rules(minimum: 20, window: 10, open: 1, maxOpen: 4),
        Rules(minimum: 20, window: 30, open: 15, maxOpen: 120),
    ]

    var scenario = Scenario()
    var processes = 20

    /// Runs the clients with a kind of sharing.
    func run(_ rules: Rules, _ sharing: Sharing) async throws -> StrategyOutcome {
        try await Study(scenario).run(rules.name) { clock in
            let store = MemorySharedStore(timeSource: clock)
            let count = sharing == .atOnce ? 1 : processes
            return (0..<count).map { number in
                let floor = 0.1 * Double(scenario.clients) / Double(count)
                let budget = RetryBudget(ratio: 0.1, floorPerSecond: floor)
                let breaker: any Gate =
                    sharing == .store
                    ? StoreBreaker(rules, store)
                    : CircuitBreaker(
                        minimum: rules.minimum, window: .seconds(rules.window),
                        open: .seconds(rules.open), maxOpen: .seconds(rules.maxOpen), probes: 1)
                return Strategy.stack(Retry(attempts: 4, budget: budget), breaker)
            }
        }
    }

    /// The medians of recovery and of wasted requests, for each kind of sharing.
    static func table(
        _ seeds: Range<UInt64>, brownCapacity: Double
    ) async throws -> [[String]] {
        var rows = [["\(Int(brownCapacity)) of 500", "recovered", "wasted", "of local"]]
        for rules in rules {
            var local: Double?
            for sharing in Sharing.allCases {
                var outcomes: [StrategyOutcome] = []
                for seed in seeds {
                    var study = FleetStudy()
                    study.scenario.brownCapacity = brownCapacity
                    study.scenario.seed = seed
                    outcomes.append(try await study.run(rules, sharing))
                }
                let wasted = Figures.median(outcomes.map { Double($0.wasted) }) ?? 0
                local = local ?? wasted
                rows.append([
                    "\(rules.name), \(sharing.rawValue)", Medians(outcomes).recovery,
                    "\(Int(wasted))", Figures.fixed(wasted / (local ?? wasted)),
                ])
            }
        }
        return rows
    }
}

/// A breaker of one process, which shares one circuit with the others over a store.
///
/// The store has the time until which the circuit is open, and a mark while it is not closed. When
/// the time has passed, the process with the lock sends one probe. A process asks the store at most
/// every half second.
private final class StoreBreaker: Interceptor {
    private enum Admission {
        case pass
        case probe(SharedLock)
        case refuse
    }

    private struct State {
        // Attempts, and those that failed.
        var counts: Counts
        var askedAt = -1.0
        var isClosed = true
        var pause: Int
    }

    private let rules: FleetStudy.Rules
    private let store: MemorySharedStore
    private let state: Mutex<State>

    private static let key = "circuit"

    init(_ rules: FleetStudy.Rules, _ store: MemorySharedStore) {
        self.rules = rules
        self.store = store
        state = Mutex(State(counts: Counts(seconds: Double(rules.window)), pause: rules.open))
    }

    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
        let admission = await admission(at: Self.seconds(context))
        if case .refuse = admission { throw ClientError(.circuitOpen, "the circuit is open") }
        do {
            let response = try await next(request)
            await learn(response.status.isSuccessful, admission, context)
            return response
        } catch {
            if context.cancelReason == nil { await learn(false, admission, context) }
            throw error
        }
    }

    private func admission(at now: Double) async -> Admission {
        let asks = state.withLock { state in
            defer { if now >= state.askedAt + 0.5 { state.askedAt = now } }
            return now >= state.askedAt + 0.5
        }
        guard asks else { return state.withLock { $0.isClosed } ? .pass : .refuse }
        let isClosed = await store.token(Self.key)?.content.isEmpty ?? true
        state.withLock { state in
            if isClosed, !state.isClosed {
                state.counts = Counts(seconds: Double(rules.window))
                state.pause = rules.open
            }
            state.isClosed = isClosed
        }
        if isClosed { return .pass }
        if await store.cooldown(of: Self.key) != nil { return .refuse }
        // A probe whose process is lost is replaced after its lock.
        guard case .taken(let lock) = await store.lock(Self.key, for: .seconds(2)) else {
            return .refuse
        }
        return .probe(lock)
    }

    private func learn(_ isSuccess: Bool, _ admission: Admission, _ context: Context) async {
        let now = Self.seconds(context)
        if case .probe(let lock) = admission {
            if isSuccess { await mark(isClosed: true) } else { await open(doubling: true) }
            return await store.unlock(lock)
        }
        let opens = state.withLock { state in
            state.counts.advance(to: now)
            state.counts.add(1, isSuccess ? 0 : 1)
            let (all, failed) = (state.counts.first, state.counts.second)
            guard state.isClosed, all >= Double(rules.minimum), failed >= all / 2 else {
                return false
            }
            state.isClosed = false
            return true
        }
        if opens { await open(doubling: false) }
    }

    private func open(doubling: Bool) async {
        let pause = state.withLock { state in
            state.pause = doubling ? min(state.pause * 2, rules.maxOpen) : rules.open
            return state.pause
        }
        await mark(isClosed: false)
        await store.coolDown(for: .seconds(pause), Self.key)
    }

    private func mark(isClosed: Bool) async {
        let content = isClosed ? Data() : Data([1])
        _ = await store.store(StoredToken(content, fence: 0), Self.key, for: nil)
    }

    private static func seconds(_ context: Context) -> Double {
        Double(context.timeSource.now.nanoseconds) / 1e9
    }
}
