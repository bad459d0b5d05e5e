// SPDX-License-Identifier: Apache-2.0

/// How a circuit treats calls.
public enum CircuitState: String, Hashable, Sendable, CaseIterable {
    /// Lets all calls through, and counts failures.
    case closed
    /// Refuses all calls.
    case open
    /// Lets a few probes through; their outcomes decide the next state.
    case halfOpen
}
