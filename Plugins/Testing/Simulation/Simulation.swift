public import Foundation
import Synchronization
public import TurnpikeCore

/// Runs concurrent code on one thread, in an order that a seed decides, and in time that costs none.
///
/// ```swift
/// let result = try await Simulation(seed: 7).run { simulation in
///     let client = Client(
///         transport: transport, stack: .standard, timeSource: simulation.clock,
///         randomSource: simulation.random)
///     return try await client.get("https://a.example/").string()
/// }
/// ```
///
/// Whatever waits for the ``clock`` waits until nothing else can run; then the clock jumps. Ten
/// minutes of retries take milliseconds, and the same seed gives the same run: which task goes on
/// next, what jitter is drawn, when each timer fires. Another seed gives another order, so that a
/// loop over seeds looks for races.
///
/// The body and its child tasks run inside, and so do the tasks of the library. Three things leave
/// the simulation and make its runs differ: a `Task {}` of your own (give it the current executor
/// or use a child task), `Task.sleep` and other clocks, and waiting for sockets, files or threads.
/// An `await` that nothing inside will ever answer ends the run as ``SimulationError``.
public final class Simulation: Sendable {
    private struct Trace {
        var lines: [String] = []
        var dropped = 0
    }

    /// The simulation's time.
    public let clock: SimulationClock
    /// The simulation's chance.
    public let random: SeededRandomSource
    /// What decides order and chance.
    public let seed: UInt64
    private let limit: Duration
    private let executor: SimulationExecutor
    private let stackBytes: Int
    private let state = Mutex(Trace())

    private static let traceLimit = 1_000_000

    /// Creates a simulation.
    /// - Parameters:
    ///   - seed: Decides the order of tasks and all chance.
    ///   - date: The date on the wall at the beginning.
    ///   - limit: How long it may last on its own clock; beyond it the run ends as an error.
    public convenience init(
        seed: UInt64, date: Date = Date(timeIntervalSince1970: 1_700_000_000),
        limit: Duration = .seconds(86_400)
    ) { self.init(seed: seed, date: date, limit: limit, stackBytes: 8 << 20) }

    package init(seed: UInt64, date: Date, limit: Duration, stackBytes: Int) {
        self.seed = seed
        self.stackBytes = stackBytes
        self.limit = limit
        clock = SimulationClock(start: date)
        random = SeededRandomSource(seed: seed)
        executor = SimulationExecutor(seed: seed ^ 0x5157_A1A7_E000_0001)
    }

    /// The time since the beginning, on the simulation's clock.
    public var elapsed: Duration { .nanoseconds(clock.now.nanoseconds) }

    /// Adds a line to the trace, with the time before it.
    public func note(_ line: String) {
        let nanoseconds = clock.now.nanoseconds
        let micros = String(nanoseconds / 1000 % 1_000_000)
        let stamp =
            "\(nanoseconds / 1_000_000_000)." + String(repeating: "0", count: 6 - micros.count)
            + micros
        state.withLock { trace in
            if trace.lines.count < Self.traceLimit {
                trace.lines.append("\(stamp) \(line)")
            } else {
                trace.dropped += 1
            }
        }
    }

    /// What was noted, one line each: equal for equal seeds.
    public var trace: String {
        state.withLock { trace in
            let rest = trace.dropped > 0 ? ["(\(trace.dropped) more)"] : []
            return (trace.lines + rest).joined(separator: "\n")
        }
    }

    /// Runs a body to its end, once.
    ///
    /// Cancelling the waiting task cancels the body's.
    /// - Parameter body: What to run; it gets the simulation.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws, or a ``SimulationError``.
    public func run<Value: Sendable>(
        _ body: @escaping @Sendable (Simulation) async throws -> Value
    ) async throws -> Value {
        let outcome = SharedBox<Value>()
        // Ended by the loop below, which cancels it when it cannot go on.
        let task = Task(executorPreference: executor) { [self] in
            guard outcome.hasThread else { return }
            do { outcome.set(.success(try await body(self))) } catch {
                outcome.set(.failure(error))
            }
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                // A thread of its own, since the loop must not hold one of the pool.
                let hasThread = SystemThread.start(stackBytes: stackBytes) { [self] in
                    continuation.resume(with: drive(task, outcome))
                }
                if !hasThread { continuation.resume(throwing: giveUp(outcome)) }
            }
        } onCancel: {
            task.cancel()
        }
    }

    // The body does not run at all.
    private func giveUp<Value: Sendable>(_ outcome: SharedBox<Value>) -> SimulationError {
        outcome.hasThread = false
        executor.close()
        return SimulationError(
            seed: seed, elapsed: elapsed, message: "the system has no thread for it")
    }

    private func drive<Value: Sendable>(
        _ task: Task<Void, Never>, _ outcome: SharedBox<Value>
    ) -> Result<Value, any Error> {
        defer { executor.close() }
        while true {
            while executor.runOne() {}
            if let result = outcome.value { return result }
            let failure: SimulationError
            if elapsed > limit {
                failure = SimulationError(
                    seed: seed, elapsed: elapsed, message: "it lasted longer than its limit")
            } else if clock.runNext() {
                continue
            } else {
                failure = SimulationError(
                    seed: seed, elapsed: elapsed,
                    message: "all tasks wait and no timer is left: something waits for what is "
                        + "outside the simulation, or for itself")
            }
            task.cancel()
            while executor.runOne() {}
            return .failure(failure)
        }
    }
}

/// Why a ``Simulation`` could not come to its end.
public struct SimulationError: Error, CustomStringConvertible {
    /// The seed that shows it again.
    public let seed: UInt64
    /// The simulated time at which it happened.
    public let elapsed: Duration
    /// What happened.
    public let message: String

    /// What happened, when, and with which seed.
    public var description: String {
        "the simulation with seed \(seed) after \(elapsed): \(message)"
    }
}

private final class SharedBox<Value: Sendable>: Sendable {
    private let state = Mutex<Result<Value, any Error>?>(nil)
    private let isWithoutThread = Atomic(false)

    /// Whether there is a thread for what gives the value.
    var hasThread: Bool {
        get { !isWithoutThread.load(ordering: .relaxed) }
        set { isWithoutThread.store(!newValue, ordering: .relaxed) }
    }

    var value: Result<Value, any Error>? { state.withLock { $0 } }

    func set(_ result: Result<Value, any Error>) { state.withLock { $0 = result } }
}
