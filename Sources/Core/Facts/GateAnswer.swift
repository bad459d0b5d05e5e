// SPDX-License-Identifier: Apache-2.0

/// How a gate answers without what stands inside it.
public enum GateAnswer: Sendable, Hashable {
    /// With a stored response.
    case stored
    /// With the response of another call that is under way.
    case shared
    /// With an error.
    case refusal
    /// With a response that it makes.
    case substitute
}
