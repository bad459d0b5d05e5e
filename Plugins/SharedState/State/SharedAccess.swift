// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// Sends operations to a store with a time limit, except while the store is unreachable.
final class SharedAccess: Sendable {
    private struct State {
        var circuit = StoreCircuit()
        var toldAt: MonotonicInstant?
        // Whether the last log line reports an unreachable store.
        var hasToldFailure = false
        var replicas = ReplicaCount()
        // Whether an operation has ended, and the state of the store is known.
        var hasMet = false
    }

    let store: any SharedStore
    let timeLimit: Duration
    let group: String

    private let replica: String
    private let fixedReplicas: Int?
    private let figures: GateFigures
    private let state = Mutex(State())

    private static let newsInterval = Duration.seconds(10)
    private static let replicasGauge = GateFigure.gauge("turnpike.shared_state.replicas")

    private static let help = [
        "turnpike.shared_state.failures":
            "Operations on shared state without an answer of its store; the gate then decided"
            + " locally.",
        "turnpike.shared_state.skipped":
            "Operations on shared state that were not tried, because the store failed.",
        "turnpike.shared_state.away": "Stores of shared state that are not asked at present.",
        "turnpike.shared_state.replicas": "Replicas that share state, as far as known.",
    ]

    init(
        _ store: any SharedStore, timeLimit: Duration, replicas: Int?, group: String,
        replica: String, meter: (any GateMeter)?
    ) {
        self.store = store
        self.timeLimit = min(max(timeLimit, .milliseconds(1)), .seconds(60))
        fixedReplicas = replicas.map { max($0, 1) }
        self.group = group
        self.replica = replica
        figures = GateFigures(
            meter, help: Self.help,
            counters: [
                .counter("turnpike.shared_state.failures"),
                .counter("turnpike.shared_state.skipped"),
            ])
        figures.tell { [fixedReplicas] in
            var gauges: [GateFigure: Double?] = [.gauge("turnpike.shared_state.away"): 0]
            if let fixedReplicas { gauges[Self.replicasGauge] = Double(fixedReplicas) }
            return gauges
        }
    }

    var replicas: Int {
        fixedReplicas ?? state.withLock { $0.replicas.known ?? ReplicaCount.assumed }
    }

    /// The number of replicas if the number is reliable enough for idle permits, or nil.
    var confirmedReplicas: Int? { fixedReplicas ?? state.withLock { $0.replicas.confirmed } }

    var isReachable: Bool { state.withLock { $0.circuit.isClosed } }

    /// Returns the earliest time of the next operation, or nil if an operation may be sent now.
    func nextAdmission(at now: MonotonicInstant) -> MonotonicInstant? {
        state.withLock { $0.circuit.nextAdmission(at: now) }
    }

    func flush() async { await figures.flush() }

    // Sends an operation within the time limit. Without an answer, returns nil, and the gate must
    // decide locally.
    //
    // `firstLimit` includes connecting, and is used until the first answer of the store. Until
    // this answer, earlier failures do not prevent the operation. `late` receives an answer after
    // the limit or after a cancellation of the caller. The only error is `CancellationError`.
    func ask<Answer: Sendable>(
        _ what: String, by timeSource: any TimeSource, limit: Duration? = nil,
        firstLimit: Duration? = nil, tell: @escaping @Sendable (String) -> Void,
        late: @escaping @Sendable (Answer) -> Void = { _ in },
        _ operation: @escaping @Sendable (any SharedStore) async throws -> Answer
    ) async throws -> Answer? {
        let (isFirst, isAdmitted) = state.withLock { state in
            let isFirst = firstLimit != nil && !state.hasMet
            return (isFirst, isFirst || state.circuit.admit(at: timeSource.now))
        }
        guard isAdmitted else {
            figures.add(1, to: "turnpike.shared_state.skipped")
            return nil
        }
        beatIfDue(timeSource)
        let limit = max(limit ?? timeLimit, isFirst ? firstLimit ?? .zero : .zero)
        let outcome = OneShot<Answer?>()
        let timer = timeSource.schedule(after: limit) { outcome.settle(.success(nil)) }
        defer { timer.cancel() }
        run { store in
            do {
                let answer = try await operation(store)
                if !outcome.settle(.success(answer)) { late(answer) }
            } catch {
                outcome.settle(.failure(error is CancellationError ? StoreGaveUp() : error))
            }
        }
        do {
            let answer = try await outcome.value {
                outcome.settle(.failure(CancellationError()))
            }
            let failure = answer == nil ? "no answer within \(limit.text)" : nil
            ended(what, failure, isFirst: isFirst, timeSource, tell)
            return answer
        } catch let error as CancellationError {
            // The cancellation does not show whether the store would answer.
            state.withLock { $0.circuit.abandon(at: timeSource.now) }
            throw error
        } catch {
            ended(what, String(describing: error), isFirst: isFirst, timeSource, tell)
            return nil
        }
    }

    // Sends an operation within the time limit. No call waits for the operation.
    func tell(
        _ what: String, by timeSource: any TimeSource, tell: @escaping @Sendable (String) -> Void,
        ended: @escaping @Sendable () -> Void = {},
        _ operation: @escaping @Sendable (any SharedStore) async throws -> Void
    ) {
        // The task ends by itself, because the operation has a time limit.
        _ = Task.inheriting { [self] in
            _ = try? await ask(what, by: timeSource, tell: tell) { try await operation($0) }
            ended()
        }
    }

    // Sends an operation even if the store has not answered recently. No call waits for the
    // operation.
    func run(_ operation: @escaping @Sendable (any SharedStore) async throws -> Void) {
        let store = store
        // The task ends by itself, because every operation of a store ends by itself. The caller's
        // cancellation does not cancel the operation, because other calls may wait for the answer
        // or the effect must be undone.
        _ = Task.inheriting { try? await operation(store) }
    }

    private struct StoreGaveUp: Error, CustomStringConvertible {
        var description: String { "the store has cancelled the operation" }
    }

    private func ended(
        _ what: String, _ failure: String?, isFirst: Bool, _ timeSource: any TimeSource,
        _ tell: @Sendable (String) -> Void
    ) {
        let now = timeSource.now
        let (hasChanged, isClosed, isNews) = state.withLock { state in
            let hasChanged = state.circuit.record(failure == nil, at: now)
            if isFirst || failure == nil { state.hasMet = true }
            let isNews = Self.isNews(&state, failure != nil, opens: hasChanged, now)
            return (hasChanged, state.circuit.isClosed, isNews)
        }
        if hasChanged {
            figures.tell { [.gauge("turnpike.shared_state.away"): isClosed ? 0 : 1] }
        }
        if failure != nil { figures.add(1, to: "turnpike.shared_state.failures") }
        guard isNews else { return }
        if let failure {
            tell(
                "the store of shared state did not give \(what); gates decide locally: \(failure)"
            )
        } else {
            tell("the store of shared state answers again")
        }
    }

    // Failures are logged at most every ten seconds. After a logged failure, the first answer is
    // logged. The opening of the circuit is always logged.
    private static func isNews(
        _ state: inout State, _ hasFailed: Bool, opens: Bool, _ now: MonotonicInstant
    ) -> Bool {
        guard hasFailed else {
            guard state.hasToldFailure, state.circuit.isClosed else { return false }
            state.hasToldFailure = false
            return true
        }
        let isRecent = state.toldAt.map { $0.duration(to: now) < newsInterval } ?? false
        if isRecent, state.hasToldFailure || !opens { return false }
        state.toldAt = now
        state.hasToldFailure = true
        return true
    }

    private func beatIfDue(_ timeSource: any TimeSource) {
        guard fixedReplicas == nil,
            state.withLock({ $0.replicas.begin(at: timeSource.now) })
        else { return }
        let (replica, group) = (replica, group)
        run { [self] store in
            let count = try? await store.beat(replica, of: group, for: ReplicaCount.lifetime)
            let known = state.withLock { state in
                state.replicas.end(count)
                return state.replicas.known
            }
            guard let known else { return }
            figures.tell { [Self.replicasGauge: Double(known)] }
        }
    }
}

extension SharedAccess {
    func use(_ content: GateSharedContent, times: Int = 1) -> GateEffect {
        .sharesState(content, isHidden: store.hidesTraffic, atMost: timeLimit * times)
    }
}

/// Log lines without a call, which the next call writes.
final class LogThrottle: Sendable {
    private let lines = Mutex<[String]>([])
    // A call takes the lock only if there are log lines.
    private let isEmpty = Atomic(true)

    func add(_ line: String) {
        lines.withLock { lines in
            if lines.count < 4 { lines.append(line) }
            isEmpty.store(false, ordering: .relaxed)
        }
    }

    func take() -> [String] {
        if isEmpty.load(ordering: .relaxed) { return [] }
        return lines.withLock { lines in
            defer { lines = [] }
            isEmpty.store(true, ordering: .relaxed)
            return lines
        }
    }
}
