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
            (["u", "-X", "y"], "there is no option -X"), (["u", "-H"], "-H needs a value"),
            (["u", "-H", "no colon"], "-H needs name:value"),
            (["u", "-H", ":x"], "-H needs name:value"),
            (["u", "-F", "=x"], "-F needs name=value"), (["u", "-F", "x"], "-F needs name=value"),
            (["u", "-d", "x", "-d", "y"], "given twice"),
            (["u", "-d", "x", "-F", "a=b"], "given twice"),
            (["u", "-F", "a=b", "-d", "x"], "given twice"),
            (["u", "-o", "x", "-o", "y"], "-o was given twice"),
            (["u", "--stak", "x"], "did you mean \"--stack\"?"),
            (["u", "--json=1"], "--json takes no value"),
        ] as [([String], String)])
    func mistakes(arguments: [String], expected: String) throws {
        let error = #expect(throws: ClientError.self) { try SendOptions(arguments) }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains(expected) == true)
    }

    @Test("A header without its name is not repeated in the message: it may be a secret")
    func secrets() {
        let error = #expect(throws: ClientError.self) { try SendOptions(["u", "-H", "hunter2"]) }
        #expect(error?.message.contains("hunter2") == false)
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
