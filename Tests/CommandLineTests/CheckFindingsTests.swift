// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeInspection

@testable import TurnpikeCommandLine

/// What `turnpike check` says of the order of gates.
@Suite struct CheckFindingsTests {
    private let terminal = FakeTerminal()
    private let folder = TemporaryFolder()

    private func check(_ text: String, _ options: String...) throws -> Int32 {
        let path = try folder.write(text, to: "stack.json")
        return CheckCommand.run([path] + options, terminal.terminal())
    }

    private let wrong = """
        {
          "baseURL": "https://a.test/", "transport": {"use": "mock"},
          "stack": [
            {"use": "retry", "attempts": 3},
              {"use": "deadline", "seconds": 30}, {"use": "limits"}
          ]
        }
        """

    @Test func `an error is told with the line of its gate, and ends with 2`() throws {
        #expect(try check(wrong) == 2)
        let lines = terminal.messages.split(separator: "\n")
        #expect(lines.count == 2, "\(terminal.messages)")
        #expect(lines[0].contains("stack.json:5:7: error: a call may take 210 s although"))
        #expect(lines[0].hasSuffix("[deadline-inside-retry]"))
        #expect(lines[1].hasSuffix(": Deadline, Retry, Limits"))
    }

    @Test func `warnings and hints are told, and the file is still right`() throws {
        #expect(try check(#"{"stack": [{"use": "deadline"}]}"#) == 0)
        #expect(terminal.messages.contains("stack.json:1:11: warning: "))
        #expect(terminal.messages.contains("[limits-missing]"))
    }

    @Test func `a rule that the file ignores is not told`() throws {
        let ignored = #""lint": {"ignore": ["limits-missing", "server-ends-process"]}"#
        let file = #"{"stack": [{"use": "deadline"}], \#(ignored)}"#
        #expect(try check(file) == 0)
        #expect(terminal.messages.isEmpty)
    }

    @Test func `an unknown rule is a mistake, with the one that is meant`() throws {
        let file = #"{"stack": [{"use": "deadline"}], "lint": {"ignore": ["limit-missing"]}}"#
        #expect(try check(file) == 2)
        #expect(
            terminal.messages.contains(
                "lint.ignore[0]: there is no rule \"limit-missing\"; did you mean"
                    + " \"limits-missing\"?"))
    }

    @Test(arguments: [
        (#"{"lint": {"ignor": []}}"#, "lint.ignor: there is no such setting"),
        (#"{"lint": []}"#, "lint: found an array; expected an object"),
        (#"{"lint": {"ignore": "all"}}"#, "lint.ignore: found a string; expected an array"),
        (#"{"lint": {"ignore": [1]}}"#, "lint.ignore[0]: found a number; expected a string"),
    ])
    func `a malformed list is a mistake`(file: String, message: String) throws {
        #expect(try check(file) == 2)
        #expect(terminal.messages.contains(message), "\(terminal.messages)")
    }

    @Test func `what is known of a file with unknown gates is judged`() throws {
        let file = """
            {"stack": [
              {"use": "retri"},
              {"use": "redirect"},
              {"use": "deadline"}
            ]}
            """
        #expect(try check(file) == 2)
        #expect(terminal.messages.contains("stack[0].use: there is no gate \"retri\""))
        #expect(terminal.messages.contains("stack.json:4:3: error: "))
        // The unknown gate may be the one that limits contents.
        #expect(!terminal.messages.contains("limits-missing"))
    }

    @Test func `a gate with a wrong setting has no default and is not missing`() throws {
        let file = """
            {"stack": [
              {"use": "deadline", "seconds": 1e300},
              {"use": "retry", "attempts": 3},
              {"use": "deadline", "seconds": "x"}
            ]}
            """
        #expect(try check(file) == 2)
        #expect(terminal.messages.contains("stack[0].seconds: "))
        #expect(terminal.messages.contains("stack[2].seconds: "))
        #expect(!terminal.messages.contains("deadline-"), "\(terminal.messages)")
        #expect(!terminal.messages.contains("30 s"), "\(terminal.messages)")
    }

    @Test func `gates behind one with a wrong setting keep their places`() throws {
        let file = """
            {"stack": [
              {"use": "validate", "nonsense": 1},
              {"use": "retry"},
              {"use": "deadline"}
            ]}
            """
        #expect(try check(file, "--json") == 2)
        let finding = try #require(try JSONValue(parsing: terminal.text)["findings"]?[0])
        #expect(finding["rule"] == "deadline-inside-retry")
        #expect(finding["order"] == ["Deadline", "Retry"])
        #expect(
            finding["gates"]?[1]
                == ["path": "stack[2]", "name": "Deadline", "line": 4, "column": 3])
    }

    @Test func `as JSON, all is in one object`() throws {
        #expect(try check(wrong, "--json") == 2)
        #expect(terminal.messages.isEmpty)
        let report = try JSONValue(parsing: terminal.text)
        #expect(report["mistakes"]?.array?.isEmpty == true)
        let finding = try #require(report["findings"]?[0])
        #expect(finding["rule"] == "deadline-inside-retry")
        #expect(finding["severity"] == "error")
        #expect(finding["order"] == ["Deadline", "Retry", "Limits"])
        #expect(
            finding["gates"]?[1]
                == ["path": "stack[1]", "name": "Deadline", "line": 5, "column": 7])
    }

    @Test func `a named stack and a missing one are judged as well`() throws {
        #expect(try check(#"{"transport": {"use": "mock"}, "stack": "standard"}"#) == 0)
        #expect(try check(#"{"transport": {"use": "mock"}}"#) == 0)
        #expect(terminal.messages.isEmpty)
    }

    #if canImport(FoundationNetworking)
    @Test(arguments: ["{}", #"{"transport": {"use": "urlsession"}}"#])
    func `what a server can do over URLSession is told, named or not`(file: String) throws {
        #expect(try check(file) == 0)
        #expect(terminal.messages.contains("warning: one response of a server can end the process"))
        #expect(terminal.messages.contains("[server-ends-process]"))
    }
    #endif

    @Test func `other arguments are refused`() throws {
        #expect(try check("{}", "--jsn") == 2)
        #expect(terminal.messages.contains("--rules"))
    }

    @Test func `the article is what the command prints`() throws {
        let path = "Sources/Inspection/Documentation.docc/OrderOfTheStack.md"
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
        #expect(text == LintRule.article, "run: swift run turnpike check --rules >\(path)")
        #expect(CheckCommand.run(["--rules"], terminal.terminal()) == 0)
        #expect(terminal.text == text)
    }

    @Test func `places are found behind anything that a file may hold`() {
        let text =
            #"{"a": {"stack": [1]}, "b": "\"]}\\", "c": [[], {}, -1e5, null], "stack" :[ {"use": "x"} ,{}]}"#
        let places = StackPlaces(text.utf8)
        #expect(places["stack"] == .init(line: 1, column: 74))
        #expect(places["stack[0]"] == .init(line: 1, column: 76))
        #expect(places["stack[1]"] == .init(line: 1, column: 90))
        #expect(StackPlaces("{}".utf8)["stack"] == nil)
        #expect(
            StackPlaces(#"{"stack": "standard"}"#.utf8)["stack[3]"] == .init(line: 1, column: 11))
    }
}
