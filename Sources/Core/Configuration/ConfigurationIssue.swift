/// One mistake in a stack file: where, what was found, and what is right.
public struct ConfigurationIssue: Hashable, Sendable, CustomStringConvertible {
    /// The kind of mistake.
    public enum Kind: Hashable, Sendable {
        /// The file is wrong.
        case mistake
        /// The file is right, and the transport cannot do what it asks.
        case unsupported
    }

    /// The place in the file: `stack[2].attempts`.
    public let path: String
    /// What was found and what is right.
    public let message: String
    /// The kind of mistake.
    public let kind: Kind

    /// Creates an issue.
    public init(path: String, message: String, kind: Kind = .mistake) {
        self.path = path
        self.message = message
        self.kind = kind
    }

    /// The place and the mistake: `stack[2].attempts: …`.
    public var description: String { path.isEmpty ? message : "\(path): \(message)" }
}

extension ClientError {
    /// The error for a file with mistakes: a line each.
    package static func configuration(_ issues: [ConfigurationIssue]) -> ClientError {
        let isUnsupported = issues.allSatisfy { $0.kind == .unsupported }
        return ClientError(
            isUnsupported ? .unsupported : .configuration,
            issues.map(\.description).joined(separator: "\n"))
    }
}

/// Collects the mistakes of one file: the first hundred, and the number of the others.
final class IssueReport {
    private static let maxIssues = 100
    private var first: [ConfigurationIssue] = []
    private var others = 0
    private var othersKind = ConfigurationIssue.Kind.unsupported
    // Texts of the environment and of other files.
    private var hidden = SecretIndex()
    private var hiddenWords: Set<String> = []

    var issues: [ConfigurationIssue] {
        if others == 0 { return first }
        let count = others == 1 ? "1 more mistake is" : "\(others) more mistakes are"
        let rest = ConfigurationIssue(
            path: "", message: count + " not told; mend these first", kind: othersKind)
        return first + [rest]
    }

    /// Takes a mistake, whose text is made if it is told.
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

    /// Takes the mistakes of another file.
    func add(_ issues: [ConfigurationIssue]) {
        for issue in issues { add(issue.kind, at: issue.path, issue.message) }
    }

    /// Keeps a text out of all messages: the file refers to it so that it stands nowhere.
    func hide(_ text: String) {
        hidden.insert(Array(text.utf8), .anywhere)
        if text.utf8.count < SecretIndex.minBytes { hiddenWords.insert(text) }
    }

    private func shown(_ message: String) -> String {
        let pass = RedactionPass(.standard, .display, known: hidden)
        let text = pass.redacted(message, as: .text)
        // What is short stands everywhere; messages quote it.
        return hiddenWords.reduce(text) { text, word in
            word.isEmpty ? text : text.replacing("\"\(word)\"", with: "\"\(Redaction.mark)\"")
        }
    }

    func check() throws {
        if !issues.isEmpty { throw ClientError.configuration(issues) }
    }
}

// How a message speaks of a value that was found.
extension JSONValue {
    package var kindName: String {
        switch self {
        case .null: "null"
        case .bool: "a truth value"
        case .number: "a number"
        case .string: "a text"
        case .array: "a list"
        case .object: "an object"
        }
    }

    /// A number as it stands; of all else the kind alone, for a text may be a secret in the wrong
    /// place.
    var shown: String {
        if case .number(let number) = self { return String(number.description.prefix(40)) }
        return kindName
    }
}
