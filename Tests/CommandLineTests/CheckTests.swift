// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCommandLine

@Suite("turnpike check")
struct CheckTests {
    private let terminal = FakeTerminal()
    private let folder = TemporaryFolder()

    private func check(_ file: JSONValue) throws -> Int32 {
        let path = try folder.write(file.description, to: "stack.json")
        return CheckCommand.run([path], terminal.terminal())
    }

    @Test("A file without mistakes prints nothing")
    func right() throws {
        #expect(try check(["transport": ["use": "mock"], "stack": "standard"]) == 0)
        #expect(terminal.messages.isEmpty && terminal.text.isEmpty)
    }

    @Test("A hundred mistakes are all listed; of more, the first hundred and the remaining number")
    func many() throws {
        func file(_ count: Int) -> JSONValue {
            ["stack": .array((0..<count).map { ["use": .string("retri\($0)")] })]
        }
        #expect(try check(file(100)) == 2)
        #expect(lines.count == 100)
        #expect(lines.last?.contains("stack[99].use: there is no gate \"retri99\"") == true)
        #expect(try check(file(2000)) == 2)
        #expect(lines.count == 201)
        #expect(
            lines.last?.hasSuffix(
                "stack.json: 1900 more mistakes are not shown; fix these first") == true)
    }

    private enum Kind: CaseIterable {
        case partNames, gateSettings, values, elements, headers, responses

        func file(_ count: Int) -> JSONValue {
            let names = (0..<count).map { ("attempt\($0)", JSONValue.null) }
            func list(_ value: JSONValue) -> JSONValue {
                .array(.init(repeating: value, count: count))
            }
            return switch self {
            case .partNames: .object(JSONObject(names))
            case .gateSettings: ["stack": [.object(JSONObject([("use", "retry")] + names))]]
            case .values: ["stack": list(["use": "retry", "attempts": "x"])]
            case .elements: ["stack": list(1)]
            case .headers: ["stack": [["use": "headers", "set": list(["a b", "x"])]]]
            case .responses: ["transport": ["use": "mock", "responses": list(["statu": 1])]]
            }
        }
    }

    // How the time grows with their number is tested among the costs.
    @Test("Of many mistakes of one kind a hundred are reported", arguments: Kind.allCases)
    private func kinds(kind: Kind) throws {
        #expect(try check(kind.file(Runs.size(2000, all: 20_000))) == 2)
        // What the linter says of the gates comes behind.
        #expect(lines.prefix { !$0.contains("]") || !$0.hasSuffix("]") }.count == 101)
    }

    @Test("Names of a file reach the terminal escaped and cut")
    func names() throws {
        let long = String(repeating: "y", count: 10_000)
        let file: JSONObject = ["\u{1B}[2J": 1, .init(long): 1, "stack": [["use": .string(long)]]]
        #expect(try check(.object(file)) == 2)
        #expect(terminal.messages.contains("\\u{1b}[2J: there is no such setting"))
        #expect(lines.count == 3 && lines.allSatisfy { $0.utf8.count < 2000 })
    }

    private var lines: [Substring] { terminal.messages.split(separator: "\n") }
}
