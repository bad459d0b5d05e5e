// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// A rule of the linter.
///
/// Rules judge what gates state of themselves (``/TurnpikeCore/GateFacts``), and know no gate by its
/// name. ``all`` is the table of them, from which the article <doc:OrderOfTheStack> is made.
public struct LintRule: Sendable, Identifiable {
    /// What a rule checks.
    enum Check: Sendable {
        /// That gates stand outside of others; the story tells what happens where one does not.
        ///
        /// There is one finding for each gate on the offender's side, with all gates that it stands
        /// in the wrong order with; without a side, for each pair of gates.
        case order(
            offender: LintEdge.Side?, edges: @Sendable (LintSubject) -> [LintEdge],
            story: @Sendable (LintBreach, LintSubject) -> String)
        /// Anything else.
        case state(@Sendable (LintSubject) -> [LintDraft])
    }

    /// The name by which the rule is ignored.
    public let id: String
    /// How bad it is to break the rule.
    public let severity: LintSeverity
    /// The mistake in a few words.
    public let title: String
    /// What goes wrong, and why.
    public let harm: String
    /// What to do about it.
    public let remedy: String
    /// Where the rule comes from: a standard, a paper, or the behaviour of a gate.
    public let source: String
    let check: Check

    init(
        _ id: String, _ severity: LintSeverity, _ title: String, harm: String, remedy: String,
        source: String, offender: LintEdge.Side? = .outer,
        edges: @escaping @Sendable (LintSubject) -> [LintEdge],
        story: @escaping @Sendable (LintBreach, LintSubject) -> String
    ) {
        self.init(
            id, severity, title, harm, remedy, source,
            .order(offender: offender, edges: edges, story: story))
    }

    init(
        _ id: String, _ severity: LintSeverity, _ title: String, harm: String, remedy: String,
        source: String, check: @escaping @Sendable (LintSubject) -> [LintDraft]
    ) {
        self.init(id, severity, title, harm, remedy, source, .state(check))
    }

    private init(
        _ id: String, _ severity: LintSeverity, _ title: String, _ harm: String, _ remedy: String,
        _ source: String, _ check: Check
    ) {
        self.id = id
        self.severity = severity
        self.title = title
        self.harm = harm
        self.remedy = remedy
        self.source = source
        self.check = check
    }

    /// All rules, in the order of the article.
    public static let all: [LintRule] =
        time + sends + repetitions + endpoints + sharing + caching + redirects + requests
        + transports
        + observation + statements

    /// What is wrong with an id of a rule that is to be ignored; nil if there is such a rule.
    public static func fault(of id: String) -> String? {
        if all.contains(where: { $0.id == id }) { return nil }
        return "there is no rule \"\(Grammar.escaped(id, upTo: 100))\""
            + NearMiss.hint(for: id, among: all.map(\.id))
    }
}
