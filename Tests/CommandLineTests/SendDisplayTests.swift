// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCommandLine

@Suite("The display of a response")
struct SendDisplayTests {
    private let clock = ManualClock()
    private let seen: FakeTerminal
    private let shown: AsyncStream<Void>

    init() {
        let (shown, wasShown) = AsyncStream.makeStream(of: Void.self)
        seen = FakeTerminal { _ in wasShown.yield() }
        self.shown = shown
    }

    private func display(
        isTerminal: Bool = true, isPretty: Bool = true, type: String? = "application/json"
    ) -> SendDisplay {
        let display = SendDisplay(
            seen.terminal(outputIsTerminal: isTerminal), isPretty: isPretty, timeSource: clock)
        display.begin(HTTPHeaders(type.map { [("Content-Type", $0)] } ?? []))
        return display
    }

    private func show(_ chunks: String..., on display: SendDisplay) throws {
        for chunk in chunks { #expect(try display.write(Data(chunk.utf8))) }
        try display.end()
    }

    @Test("What is not a terminal gets the bytes at once, and nothing more")
    func bytes() throws {
        let display = display(isTerminal: false)
        let content = Data([0x7B, 0x00, 0x1B, 0xFF, 0x0D])
        #expect(try display.write(content))
        #expect(seen.output == content)
        try display.end()
        #expect(seen.output == content)
    }

    @Test(
        "A terminal gets JSON indented once it is complete",
        arguments: ["application/json", "application/problem+json; charset=utf-8"])
    func json(type: String) throws {
        let display = display(type: type)
        #expect(try display.write(Data("{\"a\"".utf8)))
        #expect(seen.text.isEmpty)
        try show(":1}", on: display)
        #expect(seen.text == "{\n  \"a\": 1\n}\n")
        #expect(clock.timerCount == 0)
    }

    @Test(
        "Other content is shown as it arrives, with a line end at its end if it has none",
        arguments: [nil, "text/plain", "application/x-ndjson", "no type"] as [String?])
    func text(type: String?) throws {
        let display = display(type: type)
        #expect(try display.write(Data("{\"a\"".utf8)))
        #expect(seen.text == "{\"a\"")
        try show(":1}", on: display)
        #expect(seen.text == "{\"a\":1}\n")
    }

    @Test("A line end that the content has is not doubled, and no content has none")
    func lineEnds() throws {
        try show("a\n", on: display(type: nil))
        try show(on: display(type: nil))
        try show(on: display())
        #expect(seen.text == "a\n")
    }

    @Test("JSON is shown as it came if a person wants that, if it is invalid, or cut off")
    func asItCame() throws {
        try show("[1]", on: display(isPretty: false))
        try show("[1,", "]", on: display())
        try show("[\"\u{1B}[2J", on: display())
        #expect(seen.text == "[1]\n[1,]\n[\"\\u{1b}[2J\n")
    }

    @Test("JSON that is too large is shown as it arrives")
    func large() throws {
        let display = display()
        let part = Data(String(repeating: " ", count: JSONLayout.maxBytes / 2).utf8)
        for _ in 0..<2 { #expect(try display.write(part)) }
        #expect(seen.text.isEmpty)
        #expect(try display.write(Data("1".utf8)))
        #expect(seen.output.count == JSONLayout.maxBytes + 1)
        #expect(clock.timerCount == 0)
        try show("2", on: display)
        #expect(seen.text.hasSuffix("12\n"))
    }

    @Test("JSON whose end does not come is shown after a second, and then as it arrives")
    func endless() async throws {
        let display = display()
        #expect(try display.write(Data("{\"event\":1}\n".utf8)))
        clock.advance(by: SendDisplay.patience)
        for await _ in shown { break }
        #expect(seen.text == "{\"event\":1}\n")
        try show("{\"event\":2}", on: display)
        #expect(seen.text == "{\"event\":1}\n{\"event\":2}\n")
    }

    @Test("A terminal that fails while JSON is awaited fails the next use")
    func brokenTerminal() async throws {
        let display = display()
        #expect(try display.write(Data("[1,".utf8)))
        seen.close()
        clock.advance(by: SendDisplay.patience)
        try await until("the failure") {
            do { return try !display.write(Data()) } catch { return true }
        }
        #expect(throws: OutputError.self) { try display.end() }
    }

    @Test("A reader that is still active after the end shows nothing", arguments: [true, false])
    func lateReader(isTerminal: Bool) throws {
        let display = display(isTerminal: isTerminal, type: nil)
        try show("a\n", on: display)
        #expect(throws: CancellationError.self) { try display.write(Data("b".utf8)) }
        #expect(seen.text == "a\n")
    }

    @Test("A value is one line, laid out on a terminal", arguments: [true, false])
    func values(isPretty: Bool) throws {
        let value: JSONValue = ["a": "\u{9B}"]
        let piped = FakeTerminal()
        try SendDisplay(piped.terminal(), isPretty: isPretty).show(value)
        #expect(piped.text == "{\"a\":\"\u{9B}\"}\n")
        try display(isPretty: isPretty).show(value)
        #expect(
            seen.text
                == (isPretty ? "{\n  \"a\": \"\\u009b\"\n}\n" : "{\"a\":\"\\u{9b}\"}\n"))
    }

    @Test("Binary content is not shown, and a message says so")
    func binary() throws {
        let display = display(type: "image/png")
        #expect(try display.write(Data("PNG".utf8)))
        #expect(try !display.write(Data([0x00, 0x1B])))
        try display.end()
        #expect(seen.text == "PNG\n")
        #expect(
            seen.messages
                == "turnpike: the content is not text and is not shown; store it with -o FILE\n")
    }

    @Test("A head is shown without control characters on a terminal, and as it came elsewhere")
    func heads() throws {
        let url = try #require(URL(string: "http://a.example/"))
        let head = ResponseHead(
            status: 200, headers: ["X-A": "b\u{9B}c", "Set-Cookie": "s=secret"], url: url,
            version: "1.1")
        try display().show(head)
        #expect(seen.text == "HTTP/1.1 200 OK\nX-A: b\\u{9b}c\nSet-Cookie: s=secret\n\n")
        let piped = FakeTerminal()
        try SendDisplay(piped.terminal(), isPretty: true).show(
            ResponseHead(status: 204, headers: ["X-A": "b\u{9B}c"], url: url))
        #expect(piped.text == "HTTP 204 No Content\nX-A: b\u{9B}c\n\n")
    }
}
