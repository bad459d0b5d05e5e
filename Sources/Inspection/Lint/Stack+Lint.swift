// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

extension Stack {
    /// Finds mistakes in the order of the gates, and gates that are missing.
    ///
    /// Nothing is sent, and no gate runs. The check uses only the facts that gates state
    /// (``/TurnpikeCore/GateFacts``). The check ignores gates without facts, and gates after the
    /// first 100. A rule has at most 20 findings. Each finding names a gate in the wrong place, and
    /// the gates in the wrong order to this gate.
    ///
    /// ```swift
    /// @Test func `the stack is in order`() {
    ///     let findings = client.stack.lint(
    ///         for: client.transport, baseURL: client.baseURL,
    ///         ignoring: [
    ///             "breaker-outside-retry",  // The circuit should open when retries no longer help.
    ///         ])
    ///     #expect(findings.isEmpty)
    /// }
    /// ```
    /// - Parameters:
    ///   - transport: The transport, whose capabilities affect some rules.
    ///   - baseURL: The base URL of the client. Without a base URL, the origins of secrets are not
    ///     checked.
    ///   - ignored: The ids of rules that do not apply to this stack. State the reason in a
    ///     comment. An unknown id causes the finding `unknown-rule`.
    /// - Returns: The findings, the most severe first. Findings of equal severity have the order of
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
                    remedy: "Correct the id, or leave it out.", mendedOrder: nil)
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

/// A mistake that the linter has found in a stack.
public struct LintFinding: Sendable, Hashable {
    /// The id with which users ignore the rule, such as `deadline-inside-retry`.
    public let rule: String
    /// The severity of the mistake.
    public let severity: LintSeverity
    /// The harm, with the figures of this stack.
    public let story: String
    /// The gates of the mistake, outermost first; empty if a gate is missing.
    public let gates: [LintPlace]
    /// The way to correct the mistake.
    public let remedy: String
    /// The names of the gates in an order without the mistake, or nil if no such order exists.
    ///
    /// A group shows its inner gates: `Group(Retry, Log)`. This order also satisfies all other
    /// rules of order.
    public let mendedOrder: [String]?
}

extension LintFinding: CustomStringConvertible {
    /// Two lines: the first has the severity, rule, gates and story, and the second has the remedy.
    public var description: String {
        let places = gates.isEmpty ? "" : " (\(gates.map(\.description).joined(separator: ", ")))"
        let order = mendedOrder.map { ": " + $0.joined(separator: ", ") } ?? ""
        return "\(severity.rawValue): \(story) [\(rule)]\(places)\n    \(remedy)\(order)"
    }
}

/// The place of a gate in a stack.
public struct LintPlace: Sendable, Hashable {
    /// The position in the stack and in each group, counted from 0: `[2]`, `[1, 0]`.
    public let path: [Int]
    /// The name of the gate.
    public let name: String
}

extension LintPlace: CustomStringConvertible {
    /// The position, counted from 1, and the name: `3. Retry`, `2.1. Log`.
    public var description: String {
        path.map { String($0 + 1) }.joined(separator: ".") + ". " + name
    }
}

/// The severity of a finding of the linter.
public enum LintSeverity: String, Sendable, CaseIterable {
    /// Calls fail, are repeated, leak secrets, or exceed their bounds.
    case error
    /// The stack does not behave as a user of the stack expects.
    case warning
    /// The finding may be a mistake, or may be intended.
    case hint
}
