// SPDX-License-Identifier: Apache-2.0

/// What a gate keeps in a store that replicas share.
public enum GateSharedContent: Sendable, Hashable {
    /// Counts and times, such as those of a quota.
    case counts
    /// Secrets, such as tokens.
    case secrets
    /// Responses, with their content.
    case responses
}
