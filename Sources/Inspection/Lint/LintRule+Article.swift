// SPDX-License-Identifier: Apache-2.0

extension LintRule {
    /// The article that explains all rules, as Markdown; `turnpike check --rules` prints it.
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

        - To mend it: \(remedy.prefix(1).lowercased() + remedy.dropFirst()).
        - Source: \(source).

        """
    }

    private static let head = """
        # Order of the stack: the rules

        What the linter finds in a stack, what goes wrong there, and what mends it.

        ## Overview

        The position of a gate decides what it sees: outside of a retry it sees a call once, inside it sees
        every attempt. The linter knows the mistakes that this leads to. It sends nothing and runs no gate. It
        goes by what gates state of themselves (``/TurnpikeCore/GateFacts``), those of users too, and tells what
        would happen with the figures of the stack.

        A test keeps a stack in order:

        ```swift
        let client = Client(
            baseURL: "https://api.example.com/", transport: transport, stack: .standard)
        #expect(client.stack.lint(for: transport, baseURL: client.baseURL).isEmpty)
        ```

        `turnpike check stack.json` prints the findings of a stack file, with the line of the gate; an error ends it
        with status 2, warnings and hints do not.

        A rule that is broken on purpose is ignored by its id, with a comment that says why. In a stack file it is
        a member of the file, `{"lint": {"ignore": ["breaker-outside-retry"]}}`. In code:

        ```swift
        let stack: Stack = [
            .deadline(), .circuitBreaker(), .retry(), .attemptTimeout(), .limits(),
        ]
        // The circuit is to open when retries no longer help.
        let findings = stack.lint(for: transport, ignoring: ["breaker-outside-retry"])
        #expect(findings.isEmpty)
        ```

        | severity | meaning |
        |---|---|
        | error | calls fail, are repeated, leak, or outlast their bounds |
        | warning | something does not do what its reader expects |
        | hint | something may be meant |

        A gate inside a group that lets only some requests in is judged together with gates that the same request
        may pass. A gate that states no facts is not judged; if it is an interceptor, it may also be what would
        otherwise be missing. Not every stack without a finding is right, but a finding is no matter of taste.

        This article is made from the table of the rules by `turnpike check --rules`.


        """
}
