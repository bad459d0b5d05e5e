// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeStackFiles
import TurnpikeTesting

@testable import TurnpikeCommandLine
@testable import TurnpikeCore
@testable import TurnpikeSerializers

@Suite("The cost of JSON")
struct JSONCosts {
    private static let json: [(name: String, make: Hostile.Maker)] = [
        (
            "members",
            { Data(("{" + Hostile.numbered($0) { "\"k\($0)\":\($0)," } + "\"z\":0}").utf8) }
        ),
        ("members of one name", { Hostile.data("{", "\"k\":1,", "\"k\":1}", $0) }),
        (
            "members of one name in all its spellings",
            { size in
                let members = Hostile.spellings(size).map { "\"\($0)\":1" }
                return Data("{\(members.joined(separator: ","))}".utf8)
            }
        ),
        (
            "nested lists",
            {
                Hostile.data(
                    "[",
                    String(repeating: "[", count: 500) + String(repeating: "]", count: 500) + ",",
                    "0]", $0)
            }
        ),
        ("nesting without end", { Hostile.data("[", $0) }),
        ("one string", { Hostile.data("\"", "x", "\"", $0) }),
        ("one string of escapes", { Hostile.data("\"", "\\u00e9\\\\", "\"", $0) }),
        ("one string of marks", { Hostile.data("\"a", "\u{301}", "\"", $0) }),
        ("strings without end", { Hostile.data("[", "\"a\",", "\"", $0) }),
        (
            "long numbers",
            { Hostile.data("[", String(repeating: "9", count: 1000) + ",", "1]", $0) }
        ),
        ("small fractions", { Hostile.data("[", "1.5e-300,", "1]", $0) }),
        ("blanks", { Hostile.data("[", " \n", "1]", $0) }),
        ("a fault behind many lines", { Hostile.data("[", "1,\n", "x", $0) }),
    ]

    private struct Kept: Decodable {
        let list: [JSONValue]
    }

    private static var rows: [Hostile] {
        let readers: [(name: String, size: Int, read: @Sendable (Data) throws -> Void)] = [
            ("JSON", 40_000, { _ = try JSONValue(parsing: $0) }),
            (
                "JSON decoded", 40_000,
                { _ = try JSONValueDecoder().decode([String: Int].self, from: $0) }
            ),
            ("JSON redacted", 20_000, { _ = Redaction.standard.content($0, type: .json) }),
            ("JSON laid out", 40_000, { _ = JSONLayout.text($0, hasColor: true) }),
            ("stack file", 20_000, { _ = try StackFile(parsing: $0).check(with: .commandLine) }),
        ]
        let values = Hostile("values inside of a type") {
            Hostile.data(#"{"list":["#, "1,", "1]}", $0)
        } read: {
            _ = try JSONValueDecoder().decode(Kept.self, from: $0)
        }
        return [values]
            + readers.flatMap { reader in
                json.map { name, make in
                    Hostile(
                        "\(reader.name), \(name)", size: reader.size, make: make, read: reader.read)
                }
            }
    }

    @Test("grows with its size, and not with the square", arguments: rows)
    func growth(row: Hostile) async throws { try await row.check() }
}
