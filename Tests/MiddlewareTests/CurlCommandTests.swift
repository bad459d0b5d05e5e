// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("curlCommand")
struct CurlCommandTests {
    /// What a shell makes of a command: the arguments curl gets, and its standard input.
    private func run(_ command: String) throws -> (arguments: [String], input: Data) {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // A curl that writes down what it gets.
        let script = """
            curl() {
              for argument in "$@"; do printf '%s\\0' "$argument"; done > arguments
              case "$*" in *@-*) cat > input ;; esac
            }
            \(command)
            """
        let (end, printed, _) = try ChildProcess(
            "/bin/sh", ["-c", script], in: folder.path(), output: .pipe, errors: .output
        ).finish()
        #expect(printed.isEmpty, "\(String(decoding: printed, as: UTF8.self))")
        #expect(end == .exited(0))
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path())
        #expect(Set(files).isSubset(of: ["arguments", "input"]))
        let arguments = try Data(contentsOf: folder.appending(path: "arguments"))
        return (
            arguments.split(separator: 0, omittingEmptySubsequences: false).dropLast().map {
                String(decoding: $0, as: UTF8.self)
            }, (try? Data(contentsOf: folder.appending(path: "input"))) ?? Data()
        )
    }

    private func request(
        _ method: HTTPMethod = .post, to target: Target = "http://a.example/x",
        headers: HTTPHeaders = [:], _ body: RequestBody = .empty
    ) -> Request {
        Request(method, target, headers: headers, body: body)
    }

    @Test(
        "Texts arrive as they are",
        arguments: [
            "plain", "it's", "''", "$(touch evil)", "`touch evil`", "$HOME ${PATH}", "a\\nb\\",
            "\"quoted\"", "!history !!", "@/etc/passwd", "-x --next", "a;b|c&d>e<f", "*?[a-z]{1,2}",
            "ünïcode 漢字 🙂", "#comment", "~", "two\nlines", "tab\tand\r\nreturn", "\u{1B}[2J",
            "\u{7}",
            "right\u{202E}left", "%s %d %% %n", "-\n-", "\\101\n", "null\u{0}byte",
            "zero\u{200B}width", #"a"b\c'd $e `f`"#, "a'\u{301}; touch evil; '\u{301}b",
        ])
    func texts(text: String) throws {
        let command = request(.post, headers: ["X-A": "1"], .text(text)).curlCommand()
        #expect(command.unicodeScalars.allSatisfy { !$0.properties.isDefaultIgnorableCodePoint })
        #expect(!command.contains { $0.isNewline })
        let (arguments, input) = try run(command)
        if let place = arguments.firstIndex(of: "--data-raw") {
            #expect(arguments[place + 1] == text)
        } else {
            #expect(arguments.contains("@-"))
            #expect(String(decoding: input, as: UTF8.self) == text)
        }
        #expect(arguments.last == "http://a.example/x")
    }

    @Test("Method, header fields and URL arrive as they are")
    func head() throws {
        let target: Target = "http://a.example/it's/%24(x)/[1]?q='$(id)'&r=`id`"
        let headers: HTTPHeaders = [
            "X-A": "it's $(id) `id` \"x\" \\", "X-Empty": "", "X-B": "ü",
        ]
        let request = request("O'DD", to: target, headers: headers)
        let (arguments, _) = try run(request.curlCommand())
        #expect(
            arguments == [
                "--globoff", "--path-as-is", "--request", "O'DD", "--header",
                "X-A: it's $(id) `id` \"x\" \\", "--header", "X-Empty;", "--header", "X-B: ü",
                request.url.absoluteString,
            ])
    }

    @Test("Fields that curl would add are stated or suppressed")
    func defaults() throws {
        #expect(
            request(.get).curlCommand() == "curl --globoff --path-as-is 'http://a.example/x'")
        #expect(request(.head).curlCommand().contains("--head"))
        #expect(request(.post).curlCommand().contains("--header 'Content-Type:' --data-raw ''"))
        #expect(!request(.delete).curlCommand().contains("--data"))
        let typed = request(.post, headers: ["Content-Type": "text/plain"], .text("x"))
        #expect(request(.post, .json([1])).curlCommand().contains("Content-Type: application/json"))
        #expect(typed.curlCommand().components(separatedBy: "Content-Type").count == 2)
    }

    @Test("Content that cannot be shown is read from standard input, a whole file from its path")
    func notShown() throws {
        let folder = FileManager.default.temporaryDirectory
        let file = folder.appending(path: "it's $(id) \(UUID().uuidString)")
        try Data("0123456789".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let chunks = AsyncStream<Data> { $0.finish() }
        let bodies: [(RequestBody, HTTPHeaders)] = [
            (.stream { chunks }, [:]), (.file(file, range: 1..<3), [:]),
            (.text(String(repeating: "x", count: 5000)), [:]),
            (.text("password=s3cret"), ["Content-Encoding": "gzip"]),
            (.text("s3cret"), ["Content-Type": "multipart/form-data; boundary=x"]),
            (.text("s3cret"), ["Content-Type": "application/x-plist"]),
            (.text("s3cret"), ["Content-Type": "text/xml"]),
            (.data(Data([0xFF, 0x00]) + Data("s3cret".utf8), type: .octetStream), [:]),
        ]
        for (body, headers) in bodies {
            let command = request(.post, headers: headers, body).curlCommand()
            #expect(command.contains("--data-binary @- "))
            #expect(!command.contains("s3cret"))
            #expect(!command.contains("printf"))
        }
        let (arguments, _) = try run(request(.post, .file(file)).curlCommand())
        #expect(arguments.contains("@" + file.path(percentEncoded: false)))
    }

    @Test(
        "Secrets are hidden with or without a type, and the rest is unchanged",
        arguments: [
            ("application/json", "{\n  \"password\": \"s3cret\",\n  \"kept\": [1]\n}"),
            ("application/problem+json", #"{"api_key":{"a":"s3cret"},"kept":1}"#),
            ("", #" [{"token": "s3cret"}, {"kept": 1}]"#),
            ("", "kept=1&password=s3cret"), ("", "/kept?code=s3cret"),
            ("application/x-www-form-urlencoded", "kept&pwd=s3cret"),
            ("text/plain", "kept http://u:s3cret@a.example/?sig=s3cret\nkept"),
            ("application/octet-stream", "password=s3cret&kept=1"),
        ])
    func contents(type: String, text: String) throws {
        let headers: HTTPHeaders = type.isEmpty ? [:] : ["Content-Type": type]
        let command = request(.post, headers: headers, .data(Data(text.utf8))).curlCommand()
        #expect(!command.contains("s3cret"))
        #expect(command.contains("kept"))
        #expect(command.contains("REDACTED"))
        var bytes = Data(text.utf8)
        bytes.append(contentsOf: Array("&token=s3cret&x=".utf8) + [0xFF, 0x00])
        let broken = request(.post, headers: headers, .data(bytes)).curlCommand()
        if text.hasPrefix("kept&") || text.hasPrefix("password") {
            #expect(!broken.contains("s3cret"))
        }
        _ = try run(broken)
    }

    @Test(
        "Header fields are unchanged, each once, instead of curl's defaults",
        arguments: [
            ("X-Custom-Header", #"{"page": "value"}"#), ("Accept-Language", "en-GB"),
        ] as [(HTTPHeaders.Name, String)])
    func vectorsOfHeaders(name: HTTPHeaders.Name, value: String) async throws {
        let transport = MockTransport { _ in .ok() }
        let client = Client(transport, [.defaultHeaders(["Accept-Language": "en-US"])])
        _ = try await client.get(anywhere, headers: [name: value]).response()
        let command = try #require(transport.sent.first?.request.curlCommand())
        let (arguments, _) = try run(command)
        let place = try #require(arguments.firstIndex(of: "\(name): \(value)"))
        #expect(arguments[place - 1] == "--header")
        #expect(arguments.filter { $0.hasPrefix("\(name):") }.count == 1)
    }

    @Test(
        "Cookies that are sent appear hidden, from the jar or the caller",
        arguments: [("the jar's", true), ("none", false), ("the caller's", true)])
    func vectorsOfCookies(source: String, areSent: Bool) async throws {
        let jar = CookieJar()
        let url = try #require(URL(string: "http://a.example/x"))
        _ = jar.store(["foo=bar"], from: url, at: Date(timeIntervalSince1970: 1_700_000_000))
        let transport = MockTransport { _ in .ok() }
        let client = Client(transport, source == "the jar's" ? [.cookies(jar)] : [])
        let headers: HTTPHeaders = source == "the caller's" ? ["Cookie": "c=1"] : [:]
        _ = try await client.post(anywhere, headers: headers).response()
        let sent = try #require(transport.sent.first?.request)
        #expect(sent.headers.contains(.cookie) == areSent)
        let (arguments, _) = try run(sent.curlCommand())
        let line = arguments.first { $0.hasPrefix("Cookie:") }
        #expect((line != nil) == areSent && line?.contains("bar") != true)
        #expect(line.map { $0.contains("REDACTED") } != false && !arguments.contains("-b"))
    }

    @Test(
        "A request that cannot be sent gives a comment, and the shell does nothing",
        arguments: ["invalid_url", "http://", "ht tp://a.example/s3cret'$(id)"])
    func vectorsOfDefects(text: String) throws {
        let command = request(.get, to: Target(text)).curlCommand()
        #expect(command.hasPrefix("# 'no curl command could be made: "))
        #expect(!command.contains("file:") && !command.contains("s3cret"))
        let bad = request(.get, headers: ["X-A": "s3cret\r\nX-B: 1"]).curlCommand()
        #expect(bad.hasPrefix("# '") && bad.contains("X-A") && !bad.contains("s3cret"))
        #expect(try ChildProcess("/bin/sh", ["-ec", command]).wait() == .exited(0))
    }

    @Test("A credential is not printed")
    func vectorsOfCredentials() throws {
        var request = request(.get, to: "http://u:p4ss@a.example/x")
        request.moveUserInformation()
        let (arguments, _) = try run(request.curlCommand())
        #expect(arguments.contains("Authorization: REDACTED"))
        #expect(!arguments.contains { $0.contains("p4ss") || $0.contains("-u") })
    }

    @Test("A redaction with added names hides them here too")
    func moreNames() {
        let redaction = Redaction.standard.adding(headers: ["X-Tenant"], query: ["user"])
        let command = request(
            .post, to: "http://a.example/?user=s3cret", headers: ["X-Tenant": "s3cret"],
            .json(["user": "s3cret"])
        ).curlCommand(redaction: redaction)
        #expect(!command.contains("s3cret"))
    }

    @Test("OPTIONS for the server as a whole sets --request-target")
    func asterisk() throws {
        let (arguments, _) = try run(request(.options, to: "http://a.example").curlCommand())
        let place = try #require(arguments.firstIndex(of: "--request-target"))
        #expect(arguments[place + 1] == "*")
        let (others, _) = try run(request(.options, to: "http://a.example/").curlCommand())
        #expect(!others.contains("--request-target"))
    }
}
