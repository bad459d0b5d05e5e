// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// A rule of the linter.
///
/// Rules use only the facts that gates state (``/TurnpikeCore/GateFacts``). The article
/// <doc:OrderOfTheStack> is generated from ``all``.
public struct LintRule: Sendable, Identifiable {
    enum Check: Sendable {
        /// Some gates must be outside of other gates.
        ///
        /// The text describes the harm of another order. Each gate on the offender's side gets one
        /// finding, with all gates in the wrong order to this gate. Without an offender's side,
        /// each pair of gates gets one finding.
        case order(
            offender: LintEdge.Side?, edges: @Sendable (LintSubject) -> [LintEdge],
            story: @Sendable (LintBreach, LintSubject) -> String)
        case state(@Sendable (LintSubject) -> [LintDraft])
    }

    /// The name with which users ignore the rule.
    public let id: String
    /// The severity of a violation of the rule.
    public let severity: LintSeverity
    /// The mistake in a few words.
    public let title: String
    /// The harm of the mistake, and the reason.
    public let harm: String
    /// The way to correct the mistake.
    public let remedy: String
    /// The source of the rule: a standard, a paper, or the behaviour of a gate.
    public let source: String
    private(set) var check: Check

    init(
        _ id: String, _ severity: LintSeverity, _ title: String, harm: String, remedy: String,
        source: String, offender: LintEdge.Side? = .outer,
        edges: @escaping @Sendable (LintSubject) -> [LintEdge],
        story: @escaping @Sendable (LintBreach, LintSubject) -> String
    ) {
        self.init(id, severity, title, harm: harm, remedy: remedy, source: source) { _ in [] }
        check = .order(offender: offender, edges: edges, story: story)
    }

    init(
        _ id: String, _ severity: LintSeverity, _ title: String, harm: String, remedy: String,
        source: String, check: @escaping @Sendable (LintSubject) -> [LintDraft]
    ) {
        self.id = id
        self.severity = severity
        self.title = title
        self.harm = harm
        self.remedy = remedy
        self.source = source
        self.check = .state(check)
    }

    /// All rules, in the order of the article.
    public static let all: [LintRule] =
        time + sends + repetitions + endpoints + sharing + caching + redirects + requests
        + transports + observation + statements

    /// The reason why an id cannot be ignored, or nil if a rule has this id.
    public static func fault(of id: String) -> String? {
        if all.contains(where: { $0.id == id }) { return nil }
        return "there is no rule \"\(Grammar.escaped(id, upTo: 100))\""
            + NearMiss.hint(for: id, among: all.map(\.id))
    }
}

struct LintDraft: Sendable {
    let story: String
    private(set) var gates: [LintSubject.Entry]

    init(_ story: String, _ gates: LintSubject.Entry...) {
        self.init(story, of: gates)
    }

    init(_ story: String, of gates: [LintSubject.Entry]) {
        self.story = story
        self.gates = []
        add(gates)
    }

    private mutating func add(_ more: [LintSubject.Entry]) {
        for gate in more where !gates.contains(where: { $0.index == gate.index }) {
            gates.append(gate)
        }
        gates.sort { $0.index < $1.index }
    }

    static func merged(_ drafts: [LintDraft]) -> [LintDraft] {
        var merged: [LintDraft] = []
        var places: [String: [Int]] = [:]
        for draft in drafts {
            let same = places[draft.story]?.first { place in
                merged[place].gates.contains { gate in
                    draft.gates.contains { $0.index == gate.index }
                }
            }
            if let same {
                merged[same].add(draft.gates)
            } else {
                places[draft.story, default: []].append(merged.count)
                merged.append(draft)
            }
        }
        return merged
    }
}

extension LintRule {
    /// The article about all rules in Markdown, which `turnpike check --rules` prints.
    public static var article: String {
        var text = head
        text += "| rule | severity | mistake |\n|---|---|---|\n"
        for rule in all {
            text += "| `\(rule.id)` | \(rule.severity.rawValue) | \(rule.title) |\n"
        }
        for (title, rules) in chapters {
            text += "\n## \(title)\n"
            for rule in rules { text += rule.section }
        }
        return text
    }

    private static let chapters = [
        ("Time", time), ("Attempts and copies", sends + repetitions), ("Endpoints", endpoints),
        ("Shared state", sharing), ("Caches and shared exchanges", caching),
        ("Redirects", redirects), ("Requests and contents", requests),
        ("The transport", transports), ("Logs and metrics", observation),
        ("What gates state", statements),
    ]

    private var section: String {
        """

        ### \(id)

        \(title) (\(severity.rawValue)). \(harm)

        - Remedy: \(remedy.prefix(1).lowercased() + remedy.dropFirst()).
        - Source: \(source).

        """
    }

    private static let head = """
        # Order of the stack: the rules

        The mistakes that the linter finds in a stack, their harm, and their repair.

        ## Overview

        The position of a gate decides what the gate sees: outside of a retry it sees a call once, inside it sees
        every attempt. The linter knows the mistakes of wrong positions. The linter sends nothing and runs no gate.
        The linter uses only the facts that gates state (``/TurnpikeCore/GateFacts``). Each finding says what
        would happen with the figures of the stack.

        A test keeps a stack in order:

        ```swift
        let client = Client(
            baseURL: "https://api.example.com/", transport: transport, stack: .standard)
        #expect(client.stack.lint(for: transport, baseURL: client.baseURL).isEmpty)
        ```

        `turnpike check stack.json` prints the findings of a stack file, with the line of the gate. The command ends with
        status 2 if a finding is an error; warnings and hints do not change the status.

        To break a rule on purpose, ignore it by its id, with a comment that says why. In a stack file, the ids are
        a member of the file: `{"lint": {"ignore": ["breaker-outside-retry"]}}`. In code:

        ```swift
        let stack: Stack = [
            .deadline(), .circuitBreaker(), .retry(), .attemptTimeout(), .limits(),
        ]
        // The circuit should open when retries no longer help.
        let findings = stack.lint(for: transport, ignoring: ["breaker-outside-retry"])
        #expect(findings.isEmpty)
        ```

        | severity | meaning |
        |---|---|
        | error | calls fail, are repeated, leak, or outlast their bounds |
        | warning | the stack does not behave as a reader of the stack expects |
        | hint | this may be a mistake, or may be meant |

        If a group lets only some requests in, the gates of the group are judged together with the gates that such
        requests may pass. A gate that states no facts is not judged. If an interceptor states no facts, no gate
        counts as missing, because the interceptor may do its work. A stack without findings may still be wrong.

        This article is made from the table of the rules by `turnpike check --rules`.


        """
}
