// SPDX-License-Identifier: Apache-2.0

import Testing
import Turnpike
import TurnpikeCore
import TurnpikeInspection
import TurnpikeSupport
import TurnpikeTesting

/// Mistakes do in a simulation what the linter says of them.
@Suite struct LintHarmTests {
    @Test(arguments: LintHarm.all)
    func `the harm is done by the stack with the mistake, and not by the other one`(
        harm: LintHarm
    ) async throws {
        let wrong = try await Simulation(seed: 1).run { try await harm.happens(harm.wrong, $0) }
        #expect(wrong, "nothing happens")
        let right = try await Simulation(seed: 1).run { try await harm.happens(harm.right, $0) }
        #expect(!right, "it happens without the mistake")
    }

    @Test(arguments: LintHarm.all)
    func `the linter tells the two stacks apart`(harm: LintHarm) {
        let transport = MockTransport([])
        func finds(_ stack: Stack) -> Bool {
            stack.lint(for: transport, baseURL: harm.baseURL).contains { $0.rule == harm.rule }
        }
        #expect(finds(harm.wrong()))
        #expect(!finds(harm.right()))
    }
}

extension Simulation {
    /// Waits in simulated time.
    func pause(_ duration: Duration) async throws {
        let end = OneShot<Void>()
        let timer = clock.schedule(after: duration) { end.settle(.success(())) }
        defer { timer.cancel() }
        try await end.value { end.settle(.failure(CancellationError())) }
    }
}
