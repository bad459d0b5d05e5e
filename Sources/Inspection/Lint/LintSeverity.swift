// SPDX-License-Identifier: Apache-2.0

/// How bad a finding of the linter is.
public enum LintSeverity: String, Sendable, CaseIterable {
    /// Calls fail, are repeated, leak, or outlast their bounds.
    case error
    /// Something does not do what its reader expects.
    case warning
    /// Something may be meant.
    case hint
}
