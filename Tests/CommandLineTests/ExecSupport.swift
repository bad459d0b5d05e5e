// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike

@testable import TurnpikeCommandLine

/// Runs lines through `exec`.
enum Exec {
    /// The answers to lines, whatever they hold.
    static func answers(to input: String, _ arguments: String...) async -> [JSONValue] {
        let terminal = FakeTerminal(input: input)
        let status = await ExecCommand.run(arguments, terminal.terminal())
        return status == 0 ? terminal.answers : []
    }

    /// The answer to one line.
    static func answer(to line: JSONValue) async -> JSONValue {
        await answers(to: line.description + "\n").first ?? .null
    }

    /// The only result of one line.
    static func result(of line: JSONValue) async -> JSONValue {
        await answer(to: line)["results"]?[0] ?? .null
    }

    /// The result for a response that a mock gives.
    static func result(
        mock responses: JSONValue..., request: JSONValue = ["url": "http://a.example/x"],
        with more: JSONObject = [:]
    ) async -> JSONValue {
        var line: JSONObject = [
            "request": request, "stack": [],
            "transport": ["use": "mock", "responses": .array(responses)],
        ]
        for member in more { line[member.name] = member.value }
        return await result(of: .object(line))
    }
}
