// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Turnpike

@testable import TurnpikeCommandLine

@Suite("The options of send")
struct SendOptionsTests {
    @Test("A URL alone is a GET, with content a POST; a named method is used")
    func methods() throws {
        #expect(try SendOptions(["http://a/"]).method == .get)
        #expect(try SendOptions(["http://a/", "-d", "x"]).method == .post)
        #expect(try SendOptions(["http://a/", "-F", "a=b"]).method == .post)
        #expect(try SendOptions(["put", "http://a/", "-d", "x"]).method == .put)
        #expect(try SendOptions(["PURGE", "http://a/"]).method == "PURGE")
    }

    @Test("Options stand anywhere, with their values attached or in the next argument")
    func forms() throws {
        let options = try SendOptions([
            "-H", "X-A: 1", "POST", "-HX-B:2:3", "http://a/", "--stack=s.json", "-o", "out",
            "--json", "-H", "X-Empty:",
        ])
        #expect(options.headers.map(\.name) == ["X-A", "X-B", "X-Empty"])
        #expect(options.headers.map(\.value) == ["1", "2:3", ""])
        #expect(options.url == "http://a/")
        #expect(options.stack == "s.json")
        #expect(options.output == "out")
        #expect(options.asJSON)
        #expect(try SendOptions(["--", "-odd-"]).url == "-odd-")
    }

    @Test("Content is text, a file, the input, or fields")
    func content() throws {
        #expect(try SendOptions(["u", "-d", ""]).content == .text(""))
        #expect(try SendOptions(["u", "-d", "a@b"]).content == .text("a@b"))
        #expect(try SendOptions(["u", "-d", "@a b.txt"]).content == .file("a b.txt"))
        #expect(try SendOptions(["u", "-d", "@-"]).content == .input)
        let fields = try SendOptions(["u", "-F", "a=1=2", "-F", "b=@f", "-Fc="]).content
        guard case .fields(let fields) = fields else { return #expect(Bool(false)) }
        #expect(fields.map(\.name) == ["a", "b", "c"])
        #expect(fields.map(\.value) == [.text("1=2"), .file("f"), .text("")])
    }

    @Test(
        "A wrong command line is reported with a suggestion",
        arguments: [
            ([], "a URL is missing"),
            (["GET", "u", "v"], "unexpected \"v\" after a method and a URL"),
            (["-X", "PUT", "u"], "no option -X; write the method before the URL, as in"),
            (["-XPOST", "u"], "no option -X; write the method before the URL"),
            (["--request=POST", "u"], "no option --request; write the method before the URL"),
            (["u", "-k"], "there is no option -k; allowed: -H, -d, -F"),
            (["localhost:80/x"], "without a scheme; write http://localhost:80, or :80;"),
            (["GET", "a.example:8443"], "without a scheme; write http://a.example:8443;"),
            (["u", "-H"], "-H needs a value"),
            (["u", "-H", "no colon"], "-H needs name:value"),
            (["u", "-H", ":x"], "-H needs name:value"),
            (["u", "-F", "=x"], "-F needs name=value"), (["u", "-F", "x"], "-F needs name=value"),
            (["u", "-d", "x", "-d", "y"], "given twice"),
            (["u", "-d", "x", "-F", "a=b"], "given twice"),
            (["u", "-F", "a=b", "-d", "x"], "given twice"),
            (["u", "-o", "x", "-o", "y"], "-o was given twice"),
            (["u", "--stak", "x"], "did you mean \"--stack\"?"),
            (["u", "--json=1"], "--json takes no value"), (["u", "-ix"], "there is no option -x"),
            (["u", "--timeot", "1"], "did you mean \"--timeout\"?"),
            (["u", "--timeout", "soon"], "found \"soon\"; expected a number of seconds above 0"),
            (["u", "--timeout", "0"], "found \"0\"; expected"),
            (["u", "--timeout", "nan"], "found \"nan\"; expected"),
            (["u", "--transport", "nio"], "found \"nio\"; expected curl or urlsession"),
            (["u", "--transport", "curl", "--stack", "s"], "exclude each other"),
            (["u", "-i", "--json"], "exclude each other"),
            (["u", "-u", "a:b", "-H", "authorization: x"], "exclude each other"),
            (["http://c:d@e/", "-u", "a:b"], "exclude each other"), (["u", "-u", ""], "-u needs"),
            (["u", "-u", "a", "-u", "b"], "-u was given twice"),
            ([":abc"], "found \"a\" after the colon of the target; expected a port or a slash"),
            (["::1"], "found \":\" after the colon"),
        ] as [([String], String)])
    func mistakes(arguments: [String], expected: String) throws {
        let error = #expect(throws: ClientError.self) { try SendOptions(arguments) }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains(expected) == true, "\(error?.message ?? "")")
    }

    @Test(
        "A target with a scheme, and one relative to a base URL, are left as they are",
        arguments: ["http:80/x", "https:80", "http://a:80/x", "ftp:x", "a/b:80/x", "127.0.0.1:80"])
    func targets(text: String) throws { #expect(try SendOptions([text]).url == text) }

    @Test("A header without its name is not repeated in the message: it may be a secret")
    func secrets() {
        let error = #expect(throws: ClientError.self) { try SendOptions(["u", "-H", "hunter2"]) }
        #expect(error?.message.contains("hunter2") == false)
        for text in ["a:hunter2\n", "hunter2\u{7F}"] {
            let error = #expect(throws: ClientError.self) { try SendOptions(["u", "-u", text]) }
            #expect(error?.message.contains("found a control character") == true)
            #expect(error?.message.contains("hunter2") == false)
        }
    }

    @Test("Options without a value can be written together")
    func flags() throws {
        let options = try SendOptions(["-ivu", "ada", "u"])
        #expect(options.showsHead && options.isVerbose && options.isPretty && !options.asJSON)
        #expect(options.user == SendOptions.User(name: "ada", password: nil))
        #expect(try SendOptions(["--no-pretty", "u"]).isPretty == false)
    }

    @Test("A password begins after the first colon, and may be empty")
    func users() throws {
        for (text, name, password) in [("a:b:c", "a", "b:c"), ("a:", "a", ""), (":k", "", "k")] {
            #expect(
                try SendOptions(["u", "-u", text]).user
                    == SendOptions.User(name: name, password: password))
        }
    }

    @Test("A time limit and a transport are read")
    func values() throws {
        let options = try SendOptions(["u", "--timeout=2.5", "--transport", "urlsession"])
        #expect(options.timeout == .milliseconds(2500))
        #expect(options.transport == .urlsession)
        #expect(try SendOptions(["u"]).timeout == nil)
        #expect(try SendOptions(["u"]).transport == nil)
    }

    @Test(
        "A target that begins with a colon is on this machine",
        arguments: [
            (":8080/path?a=:", "http://localhost:8080/path?a=:"),
            (":/path", "http://localhost/path"),
            (":8080", "http://localhost:8080"), (":", "http://localhost"),
            (":?a=b", "http://localhost?a=b"), ("a:1", "a:1"),
        ])
    func shortTargets(text: String, url: String) throws {
        #expect(try SendOptions([text]).url == url)
        #expect(try SendOptions(["PUT", text]).url == url)
    }

    @Test("A combining mark after a delimiter does not hide it")
    func marks() throws {
        let options = try SendOptions([
            "-H", "X-A:\u{301}b", "-Fa=\u{301}b", "-Fc=@\u{301}f", "--stack=\u{301}s", "-o\u{301}o",
            "u",
        ])
        #expect(options.headers.first?.name == "X-A")
        #expect(options.headers.first?.value == "\u{301}b")
        #expect(options.stack == "\u{301}s")
        #expect(options.output == "\u{301}o")
        guard case .fields(let fields) = options.content else { return #expect(Bool(false)) }
        #expect(fields.map(\.name) == ["a", "c"])
        #expect(fields.map(\.value) == [.text("\u{301}b"), .file("\u{301}f")])
        #expect(try SendOptions(["u", "-d", "@\u{301}f"]).content == .file("\u{301}f"))
    }
}
