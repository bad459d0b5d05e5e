// SPDX-License-Identifier: Apache-2.0

/// How a ``LockStore`` answers.
public enum LockAnswer: Sendable, Hashable {
    /// The lock was taken.
    case taken(SharedLock)
    /// Somebody else has it, at most for this time.
    case held(atMost: Duration)
}
