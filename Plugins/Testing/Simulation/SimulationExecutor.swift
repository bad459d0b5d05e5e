// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TurnpikeCore

/// Runs the jobs of a simulation one at a time, in an order that a seed decides.
final class SimulationExecutor: TaskExecutor {
    private struct State {
        var ready: [UnownedJob] = []
        var generator: SeededGenerator
        var isClosed = false
    }

    private let state: Mutex<State>

    init(seed: UInt64) { state = Mutex(State(generator: SeededGenerator(seed: seed))) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isClosed = state.withLock { state in
            if !state.isClosed { state.ready.append(job) }
            return state.isClosed
        }
        // Jobs that are left after the simulation run elsewhere: a job must run, or its task leaks.
        if isClosed {
            DispatchQueue.global().async { [self] in
                unsafe job.runSynchronously(on: asUnownedTaskExecutor())
            }
        }
    }

    /// Runs one of the jobs that are ready.
    /// - Returns: Whether there was a job.
    func runOne() -> Bool {
        let job = state.withLock { state -> UnownedJob? in
            guard !state.ready.isEmpty else { return nil }
            let index = Int.random(in: 0..<state.ready.count, using: &state.generator)
            state.ready.swapAt(index, state.ready.count - 1)
            return state.ready.removeLast()
        }
        guard let job else { return false }
        unsafe job.runSynchronously(on: asUnownedTaskExecutor())
        return true
    }

    /// Runs the remaining jobs, and later ones on the system's threads.
    func close() {
        state.withLock { $0.isClosed = true }
        while runOne() {}
    }
}
