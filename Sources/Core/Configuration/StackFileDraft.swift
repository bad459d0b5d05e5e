// SPDX-License-Identifier: Apache-2.0

/// What a check of a stack file has found: its mistakes, and its parts without mistakes.
///
/// Nothing of it was opened or created, so the parts are there to be examined and not to be used.
public struct StackFileDraft: Sendable {
    /// A gate, and its path in the file.
    public struct Part: Sendable {
        /// The path: `stack[2]`, or `stack` for a gate of a stack that the file names.
        public let path: String
        /// The gate.
        public let gate: any Gate
    }

    /// The mistakes.
    public let issues: [ConfigurationIssue]
    /// The base URL of the client, or nil.
    public let baseURL: Target?
    /// The gates without mistakes, outermost first; one with a wrong setting is left out.
    public let gates: [Part]
    /// What has the capabilities of the transport; nil if that has a mistake.
    public let transport: (any Transport)?
    /// The name of the transport, as files write it; nil if there is none.
    public let transportName: String?
    /// The rules of the linter that do not apply to the stack (`lint.ignore`).
    public let ignoredRules: [String]
}
