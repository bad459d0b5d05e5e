// SPDX-License-Identifier: Apache-2.0

/// A mistake that the linter has found in a stack.
public struct LintFinding: Sendable, Hashable {
    /// The id of the rule, by which it is ignored: `deadline-inside-retry`.
    public let rule: String
    /// How bad it is.
    public let severity: LintSeverity
    /// What goes wrong, with the figures of this stack.
    public let story: String
    /// The gates that it is about, outermost first; none if a gate is missing.
    public let gates: [LintPlace]
    /// What to do about it.
    public let remedy: String
    /// The names of the gates in the order that mends it; nil where no order does.
    ///
    /// A group is written with the gates inside it: `Group(Retry, Log)`. The order also keeps all
    /// other rules of order.
    public let mendedOrder: [String]?

    /// Creates a finding.
    public init(
        rule: String, severity: LintSeverity, story: String, gates: [LintPlace], remedy: String,
        mendedOrder: [String]? = nil
    ) {
        self.rule = rule
        self.severity = severity
        self.story = story
        self.gates = gates
        self.remedy = remedy
        self.mendedOrder = mendedOrder
    }
}

extension LintFinding: CustomStringConvertible {
    /// Severity, rule, gates and story in a line, then the remedy in another one.
    public var description: String {
        let places = gates.isEmpty ? "" : " (\(gates.map(\.description).joined(separator: ", ")))"
        let order = mendedOrder.map { ": " + $0.joined(separator: ", ") } ?? ""
        return "\(severity.rawValue): \(story) [\(rule)]\(places)\n    \(remedy)\(order)"
    }
}

/// Where a gate stands in a stack.
public struct LintPlace: Sendable, Hashable {
    /// The position in the stack, and in each group inside, all from 0: `[2]`, `[1, 0]`.
    public let path: [Int]
    /// The gate's name.
    public let name: String

    /// Creates a place.
    public init(path: [Int], name: String) {
        self.path = path
        self.name = name
    }
}

extension LintPlace: CustomStringConvertible {
    /// The position as people count, and the name: `3. Retry`, `2.1. Log`.
    public var description: String {
        path.map { String($0 + 1) }.joined(separator: ".") + ". " + name
    }
}

/// How bad a finding of the linter is.
public enum LintSeverity: String, Sendable, CaseIterable {
    /// Calls fail, are repeated, leak, or outlast their bounds.
    case error
    /// Something does not do what its reader expects.
    case warning
    /// Something may be meant.
    case hint
}
