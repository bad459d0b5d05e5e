// SPDX-License-Identifier: Apache-2.0

/// How long a value in a ``Context`` lives.
public enum ContextScope: Sendable {
    /// For the whole call: all attempts see the value.
    case call
    /// For one attempt: a new attempt starts with the default.
    case attempt
}
