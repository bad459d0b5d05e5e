// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeInspection
import TurnpikeStackFiles
import TurnpikeSupport

struct CheckReport {
    let path: String
    let mistakes: [ConfigurationIssue]
    let findings: [LintFinding]
    private let gates: [ParsedStackFile.Part]
    private let places: StackPlaces
    // 1 if the stack begins with a `LeftOut` gate, otherwise 0.
    private let leftOut: Int

    /// Checks a stack file; if the file has mistakes, the linter checks the gates without mistakes.
    init(_ path: String, _ registry: Registry) throws {
        self.path = path
        let text = try Self.text(of: path)
        let draft = try StackFile(parsing: text).parsed(with: registry)
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
        // Without a `LeftOut` gate, the linter would report a gate with a mistake as missing.
        let unknown: [any Gate] = draft.issues.isEmpty ? [] : [LeftOut()]
        let stack = Stack(unknown + draft.gates.map(\.gate))
        leftOut = unknown.count
        findings = stack.lint(
            for: draft.transport ?? MockTransport([]), baseURL: draft.baseURL, ignoring: known
        )
        .filter { draft.issues.isEmpty || !$0.gates.isEmpty }
    }

    // The file is read once, because findings and positions must refer to the same text.
    private static func text(of path: String) throws -> Data {
        do {
            return try Data(contentsOf: URL(filePath: path))
        } catch {
            throw ClientError(
                .configuration, "the stack file \(Grammar.escaped(path)) cannot be read",
                underlying: error)
        }
    }

    var hasErrors: Bool {
        !mistakes.isEmpty || findings.contains { $0.severity == .error }
    }

    var mistakeLines: [String] { mistakes.map { "\(path): \($0)" } }

    /// Returns a finding with its line and column, and the remedy in a second line.
    func text(of finding: LintFinding) -> String {
        let place = place(of: finding.gates.last).map { ":\($0.line):\($0.column)" } ?? ""
        let order = order(of: finding).map { ": " + $0.joined(separator: ", ") } ?? ""
        return "\(path)\(place): \(finding.severity.rawValue): \(finding.story) [\(finding.rule)]\n"
            + "    \(finding.remedy)\(order)"
    }

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
            "order": order(of: finding).map { .array($0.map { .string($0) }) } ?? .null,
        ]
    }

    // A `LeftOut` gate comes first. No finding is about this gate, which therefore stays first.
    private func order(of finding: LintFinding) -> [String]? {
        finding.mendedOrder.map { Array($0.dropFirst(leftOut)) }
    }

    private func part(of gate: LintPlace?) -> ParsedStackFile.Part? {
        gate?.path.first.map { gates[$0 - leftOut] }
    }

    private func place(of gate: LintPlace?) -> StackPlaces.Place? {
        places[part(of: gate)?.path ?? "stack"]
    }
}

/// Replaces the gates with mistakes in the linter, which assumes nothing about this gate.
private struct LeftOut: Interceptor {
    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
        try await next(request)
    }
}
