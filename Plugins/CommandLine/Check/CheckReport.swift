import Foundation
import Turnpike
import TurnpikeInspection
import TurnpikeSupport

/// What `turnpike check` says of one stack file.
struct CheckReport {
    let path: String
    let mistakes: [ConfigurationIssue]
    let findings: [LintFinding]
    private let gates: [StackFileDraft.Part]
    private let places: StackPlaces

    /// Checks a stack file; what is known of a file with mistakes is judged as well.
    init(_ path: String) throws {
        self.path = path
        // Its errors are those of a file that is read.
        let file = try StackFile(contentsOf: URL(filePath: path))
        let text = (try? Data(contentsOf: URL(filePath: path))) ?? Data()
        let draft = file.draft(with: .commandLine)
        gates = draft.gates
        places = StackPlaces(text)
        let known = draft.ignoredRules.filter { LintRule.fault(of: $0) == nil }
        mistakes =
            draft.issues
            + draft.ignoredRules.enumerated().compactMap { number, id in
                LintRule.fault(of: id).map {
                    ConfigurationIssue(path: "lint.ignore[\(number)]", message: $0)
                }
            }
        let stack = Stack(gates.map(\.gate))
        findings = stack.lint(for: draft.transport ?? MockTransport([]), ignoring: known)
            // What has a mistake may be what is missing.
            .filter { draft.issues.isEmpty || !$0.gates.isEmpty }
    }

    /// Whether the file is wrong.
    var hasErrors: Bool {
        !mistakes.isEmpty || findings.contains { $0.severity == .error }
    }

    /// The mistakes, each in a line.
    var mistakeLines: [String] { mistakes.map { "\(path): \($0)" } }

    /// A finding with line and column, and in a second line what to do.
    func text(of finding: LintFinding) -> String {
        let place = place(of: finding.gates.last).map { ":\($0.line):\($0.column)" } ?? ""
        let order = finding.mendedOrder.map { ": " + $0.joined(separator: ", ") } ?? ""
        return "\(path)\(place): \(finding.severity.rawValue): \(finding.story) [\(finding.rule)]\n"
            + "    \(finding.remedy)\(order)"
    }

    /// All of it.
    var json: JSONValue {
        [
            "file": .string(path),
            "mistakes": .array(
                mistakes.map { ["path": .string($0.path), "message": .string($0.message)] }),
            "findings": .array(findings.map(json)),
        ]
    }

    private func json(_ finding: LintFinding) -> JSONValue {
        [
            "rule": .string(finding.rule), "severity": .string(finding.severity.rawValue),
            "story": .string(finding.story), "remedy": .string(finding.remedy),
            "gates": .array(
                finding.gates.map { gate in
                    var object: JSONObject = [
                        "path": .string(part(of: gate)?.path ?? "stack"),
                        "name": .string(gate.name),
                    ]
                    if let place = place(of: gate) {
                        object["line"] = .number(JSONNumber(place.line))
                        object["column"] = .number(JSONNumber(place.column))
                    }
                    return .object(object)
                }),
            "order": finding.mendedOrder.map { .array($0.map { .string($0) }) } ?? .null,
        ]
    }

    private func part(of gate: LintPlace?) -> StackFileDraft.Part? {
        gate?.path.first.map { gates[$0] }
    }

    private func place(of gate: LintPlace?) -> StackPlaces.Place? {
        places[part(of: gate)?.path ?? "stack"]
    }
}
