// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

extension Stack {
    /// Finds mistakes in the order of the gates, and gates that are missing.
    ///
    /// Nothing is sent and no gate runs; the gates are judged by what they state of themselves
    /// (``/TurnpikeCore/GateFacts``). A gate of a user's that states nothing is not judged, nor is a
    /// gate beyond the first 100. A rule has one finding for each gate that stands wrong, with the
    /// gates that it stands wrong to, and at most 20 findings.
    ///
    /// ```swift
    /// @Test func `the stack is in order`() {
    ///     let findings = client.stack.lint(
    ///         for: client.transport, baseURL: client.baseURL,
    ///         ignoring: [
    ///             "breaker-outside-retry",  // The circuit is to open when retries no longer help.
    ///         ])
    ///     #expect(findings.isEmpty)
    /// }
    /// ```
    /// - Parameters:
    ///   - transport: The transport, whose capabilities count.
    ///   - baseURL: The base URL of the client; without it, nothing is said of where secrets go.
    ///   - ignored: The ids of rules that do not apply to this stack. Write in a comment why. An id
    ///     that no rule has is a finding, `unknown-rule`, so that the list does not go stale.
    /// - Returns: The findings, the worst first; those of the same severity in the order of
    ///   ``LintRule/all``.
    public func lint(
        for transport: any Transport, baseURL: Target? = nil, ignoring ignored: [String] = []
    ) -> [LintFinding] {
        let subject = LintSubject(self, transport, baseURL: baseURL)
        let rules = LintRule.all.map { rule in (rule, rule.findings(in: subject)) }
        let order = LintOrder(self, rules.flatMap(\.1.edges)).names
        var findings = ignored.compactMap { id in
            LintRule.fault(of: id).map {
                LintFinding(
                    rule: "unknown-rule", severity: .error, story: $0, gates: [],
                    remedy: "Correct the id, or leave it out.")
            }
        }
        for (rule, result) in rules where !ignored.contains(rule.id) {
            findings += result.drafts.prefix(LintRule.maxFindings).map { draft in
                LintFinding(
                    rule: rule.id, severity: rule.severity, story: draft.story,
                    gates: draft.gates.map(\.place),
                    remedy: rule.remedy, mendedOrder: result.isOrder ? order : nil)
            }
        }
        return LintSeverity.allCases.flatMap { severity in
            findings.filter { $0.severity == severity }
        }
    }
}

extension LintRule {
    fileprivate static let maxFindings = 20

    fileprivate struct Result {
        var drafts: [LintDraft] = []
        var edges: [LintEdge] = []
        var isOrder = false
    }

    fileprivate func findings(in subject: LintSubject) -> Result {
        switch check {
        case .state(let drafts): return Result(drafts: LintDraft.merged(drafts(subject)))
        case .order(let offender, let edges, let story):
            let edges = edges(subject)
            let drafts = LintBreach.all(edges.filter(\.isBroken), offender).map {
                LintDraft(story($0, subject), of: $0.gates)
            }
            return Result(drafts: LintDraft.merged(drafts), edges: edges, isOrder: true)
        }
    }
}
