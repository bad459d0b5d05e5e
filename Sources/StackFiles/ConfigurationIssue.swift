// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// A mistake in a stack file, with the path, the value in the file, and the expected value.
public struct ConfigurationIssue: Hashable, Sendable, CustomStringConvertible {
    /// The kind of mistake.
    public enum Kind: Hashable, Sendable {
        /// The file has a mistake.
        case mistake
        /// The file is valid, but the transport does not support a setting.
        case unsupported
    }

    /// The path in the file, such as `stack[2].attempts`.
    public let path: String
    /// The value in the file and the expected value.
    public let message: String
    /// The kind of mistake.
    public let kind: Kind

    /// Creates an issue.
    public init(path: String, message: String, kind: Kind = .mistake) {
        self.path = path
        self.message = message
        self.kind = kind
    }

    /// The path and the message, such as `stack[2].attempts: …`.
    public var description: String { path.isEmpty ? message : "\(path): \(message)" }
}

extension ClientError {
    /// Returns the error for a file with mistakes, one per line.
    public static func configuration(_ issues: [ConfigurationIssue]) -> ClientError {
        let isUnsupported = issues.allSatisfy { $0.kind == .unsupported }
        return ClientError(
            isUnsupported ? .unsupported : .configuration,
            issues.map(\.description).joined(separator: "\n"))
    }
}

final class IssueReport {
    private static let maxIssues = 100
    private var first: [ConfigurationIssue] = []
    private var others = 0
    private var othersKind = ConfigurationIssue.Kind.unsupported
    // The values from the environment and from other files, which messages must not show.
    private var hidden: Set<String> = []

    var count: Int { first.count + others }

    var issues: [ConfigurationIssue] {
        if others == 0 { return first }
        let count = others == 1 ? "1 more mistake is" : "\(others) more mistakes are"
        let rest = ConfigurationIssue(
            path: "", message: count + " not shown; fix these first", kind: othersKind)
        return first + [rest]
    }

    // Adds a mistake; the message is created only if the report shows the message.
    func add(
        _ kind: ConfigurationIssue.Kind, at path: @autoclosure () -> String,
        _ message: @autoclosure () -> String
    ) {
        if first.count < Self.maxIssues {
            first.append(
                ConfigurationIssue(path: path(), message: shown(message()), kind: kind))
        } else {
            others += 1
            if kind == .mistake { othersKind = kind }
        }
    }

    func add(_ issues: [ConfigurationIssue]) {
        for issue in issues { add(issue.kind, at: issue.path, issue.message) }
    }

    /// Hides a text in all messages, because the file marks the text as a secret.
    func hide(_ text: String) {
        if text.isEmpty { return }
        hidden.formUnion([
            text, Grammar.escaped(text), PercentEncoding.unreserved.encode(text),
        ])
    }

    private func shown(_ message: String) -> String {
        // Longer words are hidden first, because one word may be the beginning of another word.
        let words = hidden.sorted { $0.utf8.count > $1.utf8.count }
        return Redaction.standard.text(words.reduce(message) { Self.hide($1, in: $0) })
    }

    // A message contains only the beginning of a long text.
    private static func hide(_ word: String, in message: String) -> String {
        // Only quoted occurrences of a short text are hidden, because a short text may occur
        // everywhere.
        if word.utf8.count < 4 {
            return message.replacing("\"\(word)\"", with: "\"\(Redaction.mark)\"")
        }
        let (head, tail) = (word.prefix(32), word.dropFirst(32))
        var (text, rest) = ("", message[...])
        while let found = rest.firstRange(of: head) {
            text += rest[..<found.lowerBound] + Redaction.mark
            rest = rest[found.upperBound...]
            rest = rest.dropFirst(zip(rest, tail).prefix { $0 == $1 }.count)
        }
        return text + rest
    }

    func check() throws {
        if !issues.isEmpty { throw ClientError.configuration(issues) }
    }
}
