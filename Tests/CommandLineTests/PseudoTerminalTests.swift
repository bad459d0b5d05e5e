// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import ChildProcess
import Foundation
import Glibc
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

private let script = "/usr/bin/script"

/// The built command on a terminal, which `script` of util-linux makes.
@Suite(
    "The executable on a terminal",
    .needs(script, if: FileManager.default.isExecutableFile(atPath: script)))
struct PseudoTerminalTests {
    private static let command =
        Bundle.main.bundleURL.appending(path: "turnpike").path(percentEncoded: false)

    private func shown(_ arguments: String, environment: String = "") async throws -> String {
        let line = "unset NO_COLOR; TERM=xterm \(environment) '\(Self.command)' \(arguments)"
        return try await typed(line, after: "", "").shown
    }

    /// Runs a line of a shell that has a terminal, and types when the terminal shows a text.
    private func typed(
        _ line: String, after prompt: String, _ keys: String
    ) async throws -> (shown: String, status: Int32) {
        let child = try ChildProcess(
            script, ["-qec", line, "/dev/null"], environment: ["SHELL": "/bin/sh"], input: .pipe,
            output: .pipe, errors: .output, limit: .seconds(60))
        let descriptor = child.output.fileDescriptor
        return try await Blocking.run {
            Result {
                var shown = Self.read(descriptor) { $0.contains(prompt) }
                // To write where nobody reads would end the tests.
                if !keys.isEmpty, shown.contains(prompt) {
                    try child.input.write(contentsOf: Data(keys.utf8))
                }
                shown += Self.read(descriptor) { _ in false }
                try child.input.close()
                return (shown, child.wait().status)
            }
        }.get()
    }

    private static func read(_ descriptor: Int32, until isEnough: (String) -> Bool) -> String {
        var text = Data()
        var buffer = [UInt8](repeating: 0, count: 4096)
        while !isEnough(String(decoding: text, as: UTF8.self)) {
            let count = unsafe Glibc.read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            text += buffer.prefix(count)
        }
        return String(decoding: text, as: UTF8.self).replacing("\r\n", with: "\n")
    }

    @Test("JSON is indented, in colors unless the environment has NO_COLOR")
    func json() async throws {
        let server = try TestServer()
        server.route("/x", .ok(json: ["a": "\u{9B}b"]))
        let arguments = "send \(server.url)x"
        let colored = "{\n  \u{1B}[34;1m\"a\"\u{1B}[0m: \u{1B}[32m\"\\u009bb\"\u{1B}[0m\n}\n"
        let plain = "{\n  \"a\": \"\\u009bb\"\n}\n"
        #expect(try await shown(arguments) == colored)
        #expect(try await shown(arguments, environment: "NO_COLOR=") == colored)
        #expect(try await shown(arguments, environment: "NO_COLOR=1") == plain)
        #expect(try await shown(arguments, environment: "TERM=dumb") == plain)
    }

    @Test("Text has no control characters, and a line end before what follows")
    func text() async throws {
        let server = try TestServer()
        server.route("/x", .status(404, body: Data("no\u{1B}[2J page".utf8)))
        let shown = try await shown("send \(server.url)x")
        #expect(shown.hasPrefix("no\\u{1b}[2J page\nturnpike: validation: "))
        #expect(!shown.contains("\u{1B}"))
    }

    @Test("The version is that of the library")
    func version() async throws {
        for arguments in ["--version", "send --version"] {
            let shown = try await shown(arguments)
            #expect(try /turnpike \d+\.\d+\.\d+\n/.wholeMatch(in: shown) != nil)
        }
    }

    @Test(
        "A password is asked for on the terminal, without showing it, even if the output is piped"
    )
    func password() async throws {
        let server = try TestServer()
        server.route("/x", .ok(text: "ok"))
        let line = "'\(Self.command)' send -v -u ada \(server.url)x | cat"
        let (shown, status) = try await typed(line, after: "Password of ada: ", "lovelace\r")
        #expect(status == 0)
        #expect(!shown.contains("lovelace"))
        #expect(shown.contains("> Authorization: REDACTED"))
        let field = "Basic " + Data("ada:lovelace".utf8).base64EncodedString()
        #expect(server.requests.last?.headers[.authorization] == field)
    }

    @Test(
        "Ctrl-C at the question ends the command, and the terminal shows again what is typed",
        .needs("SIGINT not to be ignored", if: Signals.ending.contains(SIGINT))
    )
    func interrupted() async throws {
        // The shell gets the signal, too.
        let line =
            "trap : INT; '\(Self.command)' send -u ada http://127.0.0.1:1/; echo =$?; stty -a"
        let (shown, _) = try await typed(line, after: "Password of ada: ", "\u{3}")
        #expect(shown.contains("=130\n"))
        #expect(shown.contains(" echo ") && shown.contains("susp = ^Z"))
    }
}
#endif
