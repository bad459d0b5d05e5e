// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// Why a ``Simulation`` could not finish.
public struct SimulationError: Error, CustomStringConvertible {
    /// The seed that reproduces the failure.
    public let seed: UInt64
    /// The simulated time of the failure.
    public let elapsed: Duration
    /// The reason.
    public let message: String

    /// The reason, the time and the seed.
    public var description: String {
        "the simulation with seed \(seed) after \(elapsed.text): \(message)"
    }
}
