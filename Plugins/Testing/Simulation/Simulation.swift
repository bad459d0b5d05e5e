// SPDX-License-Identifier: Apache-2.0

public import Foundation
import Synchronization
public import TurnpikeCore
import TurnpikeSupport

/// Runs concurrent code on one thread, in an order that a seed decides, with simulated time.
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
/// When no task can run, the ``clock`` advances to the next timer. Ten minutes of retries take
/// milliseconds. Equal seeds produce equal runs, with the same order of tasks and timers and the
/// same jitter. Other seeds produce other orders. A loop over seeds therefore searches for races.
///
/// The body, its child tasks and the tasks of the library run in the simulation. Three things run
/// outside and make runs differ. The first is your own `Task {}` (set the current executor as the
/// preference, or use a child task). The other waits are `Task.sleep`, other clocks, and waiting
/// for sockets, files or threads. If all tasks wait and there is no timer, the run ends with a
/// ``SimulationError``.
public final class Simulation: Sendable {
    private struct Trace {
        var lines: [String] = []
        var dropped = 0
    }

    /// The simulated time.
    public let clock: SimulationClock
    /// The source of randomness.
    public let random: SeededRandomSource
    /// Decides the order of tasks and all randomness.
    public let seed: UInt64
    private let limit: Duration
    private let executor: SimulationExecutor
    private let stackBytes: Int
    private let state = Mutex(Trace())

    private static let traceLimit = 1_000_000

    /// Creates a simulation.
    /// - Parameters:
    ///   - seed: Decides the order of tasks and all randomness.
    ///   - date: The wall-clock time at the start.
    ///   - limit: The longest simulated time. A longer run fails.
    public convenience init(
        seed: UInt64, date: Date = Date(timeIntervalSince1970: 1_700_000_000),
        limit: Duration = .seconds(86_400)
    ) { self.init(seed: seed, date: date, limit: limit, stackBytes: 8 << 20) }

    init(seed: UInt64, date: Date, limit: Duration, stackBytes: Int) {
        self.seed = seed
        self.stackBytes = stackBytes
        self.limit = limit
        clock = SimulationClock(start: date)
        random = SeededRandomSource(seed: seed)
        executor = SimulationExecutor(seed: seed ^ 0x5157_A1A7_E000_0001)
    }

    /// The simulated time since the start.
    public var elapsed: Duration { .nanoseconds(clock.now.nanoseconds) }

    /// Adds a line to the trace, with a time stamp.
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

    /// The lines of ``note(_:)``, which are equal for equal seeds.
    public var trace: String {
        state.withLock { trace in
            let rest = trace.dropped > 0 ? ["(\(trace.dropped) more)"] : []
            return (trace.lines + rest).joined(separator: "\n")
        }
    }

    /// Runs a body to the end, at most once.
    ///
    /// If the waiting task is cancelled, the body is cancelled too.
    /// - Parameter body: The code to run, which receives the simulation.
    /// - Returns: The result of the body.
    /// - Throws: The error of the body, or a ``SimulationError``.
    public func run<Value: Sendable>(
        _ body: @escaping @Sendable (Simulation) async throws -> Value
    ) async throws -> Value {
        let outcome = SharedBox<Value>()
        // The loop below runs this task to the end, or cancels a task that cannot continue.
        let task = Task(executorPreference: executor) { [self] in
            guard outcome.hasThread else { return }
            do { outcome.set(.success(try await body(self))) } catch {
                outcome.set(.failure(error))
            }
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                // The loop has its own thread, because it must not block the cooperative pool.
                let hasThread = SystemThread.start(stackBytes: stackBytes) { [self] in
                    continuation.resume(with: drive(task, outcome))
                }
                if !hasThread { continuation.resume(throwing: giveUp(outcome)) }
            }
        } onCancel: {
            task.cancel()
        }
    }

    private func giveUp<Value: Sendable>(_ outcome: SharedBox<Value>) -> SimulationError {
        outcome.hasThread = false
        executor.close()
        return SimulationError(
            seed: seed, elapsed: elapsed, message: "the system could not create a thread")
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
                    seed: seed, elapsed: elapsed, message: "the run lasted longer than its limit")
            } else if clock.runNext() {
                continue
            } else {
                failure = SimulationError(
                    seed: seed, elapsed: elapsed,
                    message: "all tasks wait and no timer is left: a task waits for something "
                        + "outside the simulation, or tasks wait for each other")
            }
            task.cancel()
            while executor.runOne() {}
            return .failure(failure)
        }
    }
}

private final class SharedBox<Value: Sendable>: Sendable {
    private let state = Mutex<Result<Value, any Error>?>(nil)
    private let isWithoutThread = Atomic(false)

    /// Whether the code that sets the value has a thread.
    var hasThread: Bool {
        get { !isWithoutThread.load(ordering: .relaxed) }
        set { isWithoutThread.store(!newValue, ordering: .relaxed) }
    }

    var value: Result<Value, any Error>? { state.withLock { $0 } }

    func set(_ result: Result<Value, any Error>) { state.withLock { $0 = result } }
}

/// The reason why a ``Simulation`` could not finish.
public struct SimulationError: Error, CustomStringConvertible {
    /// The seed that reproduces the failure.
    public let seed: UInt64
    /// The simulated time of the failure.
    public let elapsed: Duration
    /// The reason for the failure.
    public let message: String

    /// The reason, the time and the seed.
    public var description: String {
        "the simulation with seed \(seed) after \(elapsed.text): \(message)"
    }
}
