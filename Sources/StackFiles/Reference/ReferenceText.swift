// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import Foundation

struct ReferenceText {
    let linked: Set<String>

    func text(
        transports: [PartReference], gates: [PartReference], shared: [PartReference],
        stacks: [String]
    ) -> String {
        var text = Self.head
        if !stacks.isEmpty {
            text +=
                "\nStacks with names: \(stacks.map { "`\"\($0)\"`" }.joined(separator: ", ")).\n"
        }
        text += "\n## Transports\n"
        if let first = transports.first {
            text += "\nA file without `transport` has `\(first.name)`.\n"
        }
        for part in transports { text += section(part) }
        if !shared.isEmpty {
            text += "\n## Shared state\n\n\(Self.sharedHead)\n"
            for part in shared { text += section(part) }
        }
        text += "\n## Gates\n\n\(Self.gatesHead)\n"
        for part in gates { text += section(part) }
        return text
    }

    private func section(_ part: PartReference) -> String {
        var text = "\n### \(part.name)\n\n"
        var lines: [String] = []
        if !part.summary.isEmpty { lines.append(part.summary) }
        if let type = part.typeName { lines.append("In code: \(link(type)).") }
        if !part.aliases.isEmpty {
            let names = part.aliases.map { "`\($0)`" }.joined(separator: ", ")
            lines.append("The earlier name in files, \(names), is still accepted.")
        }
        if !lines.isEmpty { text += lines.joined(separator: " ") + "\n\n" }
        if !part.settings.isEmpty {
            text += "| setting | value | default | meaning |\n|---|---|---|---|\n"
            for setting in part.settings { text += row(setting) }
            text += "\n"
        }
        return text + "```json\n\(part.example)\n```\n"
    }

    private func row(_ setting: PartReference.Setting) -> String {
        let standard = setting.defaultValue.map { "`\("\($0)".replacing(",", with: ", "))`" }
        let column = setting.isRequired ? "required" : standard ?? "none"
        let cells = [setting.type.words, column, setting.meaning].map {
            $0.replacing("|", with: "\\|")
        }
        return "| `\(setting.name)` | \(cells.joined(separator: " | ")) |\n"
    }

    private func link(_ type: String) -> String {
        let parts = type.split(separator: ".", maxSplits: 1)
        guard parts.count == 2, linked.contains(String(parts[0])) else { return "`\(type)`" }
        return "``/\(parts[0])/\(parts[1])``"
    }

    private static let head = """
        # Reference of stack files

        Each transport and each gate that a stack file can name, with its settings.

        ## Overview

        | member | value | default |
        |---|---|---|
        | `$schema` | the schema for completion in editors; the client ignores it | none |
        | `baseURL` | a string: the base for relative URLs of requests | none |
        | `transport` | an object whose `use` names a transport | the first transport below |
        | `stack` | a list of gates, the outermost first, or the name of a stack | `"standard"` |
        | `shared` | an object whose `use` names the store for state that replicas share | none |
        | `lint.ignore` | a list of rules of the linter that do not apply to the stack | none |

        Any string can be a reference: `{"env": "NAME"}` is the value of an environment variable,
        and `{"file": "PATH"}` is the content of a file. Durations are in seconds, and may have a
        fraction. A list of header fields is a list of pairs, `[["X-Tenant", "blue"]]`. If a setting
        is null, it has its default, unless the table says otherwise. The tables show a member of an
        object by its path: `trust.pins` is `{"trust": {"pins": …}}`.

        """

    private static let sharedHead = """
        The state that all replicas of a service share. A gate uses the state if its setting
        `shared` is true or names the state, such as `"shared": "memory"`. A file describes the
        state once. If that part of the file is unchanged, a reload keeps the state.
        """

    private static let gatesHead = """
        Each gate can have an `id`, a string that no other gate of the file has. A reload of the
        file keeps the state of a gate under its `id`. The figures of the gate have the `id` as a
        label.
        """
}

extension SettingType {
    /// The allowed values as words, such as `an integer from 1 to 12`.
    var words: String {
        switch form {
        case .any: "any value"
        case .text: "a string"
        case .boolean: "true or false"
        case .headers: "header fields"
        case .object: "an object"
        case .integer(let range): "an integer " + Self.bounds(range)
        case .number(let range): "a number " + Self.bounds(range)
        case .seconds(let orZero): orZero ? "seconds, 0 or more" : "seconds, above 0"
        case .choice(let names): Self.alternatives(names.map { "`\"\($0)\"`" })
        case .list(let element): "a list of " + element.pluralWords
        case .pair(let element): "a pair of " + element.pluralWords
        case .either(let types): types.map(\.words).joined(separator: ", or ")
        }
    }

    private var pluralWords: String {
        switch form {
        case .any: "values"
        case .text: "strings"
        case .object: "objects"
        case .integer(let range): "integers " + Self.bounds(range)
        case .number(let range): "numbers " + Self.bounds(range)
        case .list(let element): "lists of " + element.pluralWords
        case .pair(let element): "pairs of " + element.pluralWords
        case .either(let types): types.map(\.pluralWords).joined(separator: ", or ")
        case .boolean, .headers, .seconds, .choice: words
        }
    }

    private static func bounds(_ range: ClosedRange<Int>) -> String {
        range.upperBound == .max
            ? "from \(range.lowerBound)" : "from \(range.lowerBound) to \(range.upperBound)"
    }

    private static func bounds(_ range: ClosedRange<Double>) -> String {
        "from \(JSONValue.shown(range.lowerBound)) to \(JSONValue.shown(range.upperBound))"
    }

    private static func alternatives(_ names: [String]) -> String {
        guard let last = names.last, names.count > 1 else { return names.joined() }
        return names.dropLast().joined(separator: ", ") + " or " + last
    }
}

extension JSONValue {
    /// Creates an integer from a whole number, and a number with a fraction from any other number.
    init?(shortest number: Double) {
        if let whole = Int(exactly: number) {
            self = .number(JSONNumber(whole))
        } else if let number = JSONNumber(number) {
            self = .number(number)
        } else {
            return nil
        }
    }

    /// Returns a number in the usual form, such as `0.000001` or `1000000`.
    static func shown(_ number: Double) -> String {
        JSONNumber(number)?.decimal?.description ?? "\(number)"
    }
}
