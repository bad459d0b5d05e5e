// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCommandLine

@Suite("turnpike explain")
struct ExplainTests {
    private let terminal = FakeTerminal()
    private let folder = TemporaryFolder()

    private func explain(_ file: JSONValue, _ arguments: String...) throws -> Int32 {
        let path = try folder.write(file.description, to: "stack.json")
        return ExplainCommand.run([path] + arguments, terminal.terminal())
    }

    private let file: JSONValue = [
        "baseURL": "https://api.example.com/v1/",
        "stack": [["use": "deadline", "seconds": 7], ["use": "retry", "attempts": 4]],
    ]

    @Test("The text tells the request, the gates and the bounds")
    func text() throws {
        #expect(try explain(file, "PUT", "users/1") == 0)
        #expect(terminal.text.hasPrefix("PUT https://api.example.com/v1/users/1  over "))
        #expect(terminal.text.contains("1  Deadline  ends the call after 7"))
        #expect(terminal.text.contains("sends             4"))
        #expect(terminal.messages.isEmpty)
    }

    @Test("Without a URL, the request goes to the base URL")
    func noURL() throws {
        #expect(try explain(file) == 0)
        #expect(terminal.text.hasPrefix("GET https://api.example.com/v1/  over "))
        #expect(terminal.messages.isEmpty)
    }

    @Test("Without a URL and a base URL, the command asks for one")
    func noBaseURL() throws {
        let wanted = "found no URL; expected one, because the file has no baseURL"
        #expect(try explain(["stack": []]) == 2)
        #expect(terminal.messages.contains(wanted))
        #expect(try explain(["stack": []], "POST") == 2)
        #expect(terminal.text.isEmpty)
        #expect(try explain(["stack": []], "https://a.example/") == 0)
        #expect(terminal.text.hasPrefix("GET https://a.example/  over "))
        #expect(terminal.text.contains("The stack has no gates."))
    }

    @Test("A single word in upper case is the method, and any other is the URL")
    func oneWord() throws {
        #expect(try explain(file, "DELETE") == 0)
        #expect(terminal.text.contains("DELETE https://api.example.com/v1/  over "))
        #expect(try explain(file, "VERSION-CONTROL") == 0)
        #expect(terminal.text.contains("VERSION-CONTROL https://api.example.com/v1/  over "))
        for word in ["users", "Users", "README.TXT", "USERS/1"] {
            #expect(try explain(file, word) == 0)
            #expect(terminal.text.contains("GET https://api.example.com/v1/\(word)  over "))
        }
        #expect(try explain(file, "/GET") == 0)
        #expect(terminal.text.contains("/GET  over "))
    }

    @Test("A WebSocket is explained by its handshake, which is all that time limits bound")
    func socket() throws {
        #expect(try explain(file, "wss://stream.example.com/prices") == 0)
        #expect(terminal.text.hasPrefix("GET https://stream.example.com/prices  over "))
        #expect(terminal.text.contains("1  Deadline  ends the call after 7 s, up to its head"))
        #expect(terminal.text.contains("needs upgrades, which the transport does not support"))
        #expect(try explain(["transport": ["use": "curl"], "stack": []], "WS://localhost/") == 0)
        #expect(terminal.text.contains("GET http://localhost/  over "))
        #expect(terminal.text.components(separatedBy: "needs upgrades").count == 2)
    }

    @Test("Each form is printed")
    func forms() throws {
        #expect(try explain(file, "--json") == 0)
        #expect(try JSONValue(parsing: terminal.output)["worst"]?["sends"]?["limit"] == 4)
        #expect(try explain(file, "--mermaid") == 0)
        #expect(terminal.text.contains("flowchart TD\n"))
        #expect(try explain(file, "--svg") == 0)
        #expect(terminal.text.hasSuffix("</svg>\n"))
    }

    @Test("A file with mistakes gives what check gives")
    func mistakes() throws {
        let bad: JSONValue = ["stack": [["use": "retri"], ["use": "deadline", "seconds": -1]]]
        #expect(try explain(bad) == 2)
        let messages = terminal.messages
        let path = try folder.write(bad.description, to: "stack.json")
        let other = FakeTerminal()
        #expect(CheckCommand.run([path], other.terminal()) == 2)
        #expect(messages == other.messages && messages.contains("retry"))
        #expect(terminal.text.isEmpty)
    }

    @Test("A wrong command line says what was found and what is known")
    func usage() throws {
        #expect(ExplainCommand.run([], terminal.terminal()) == 2)
        #expect(try explain(file, "--yaml") == 2)
        #expect(terminal.messages.contains("--yaml"))
        #expect(try explain(file, "--svg", "--json") == 2)
        #expect(try explain(file, "GET", "a", "b") == 2)
        #expect(try explain(file, "http://a b/") == 2)
        #expect(ExplainCommand.run(["/nowhere/stack.json"], terminal.terminal()) == 2)
        #expect(terminal.text.isEmpty)
    }
}
