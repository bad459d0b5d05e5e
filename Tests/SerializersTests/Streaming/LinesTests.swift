// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeSerializers

@Suite("Lines and JSON lines")
struct LinesTests {
    @Test(
        "Lines end in LF or CRLF, and the last one needs no line ending",
        arguments: [
            ("", []), ("\n", [""]), ("a", ["a"]), ("a\n", ["a"]), ("a\r\nb\nc", ["a", "b", "c"]),
            ("\n\na\n\n", ["", "", "a", ""]), ("a\rb\n", ["a\rb"]), ("é\n日本\n", ["é", "日本"]),
            ("\u{FEFF}a\n\u{FEFF}b", ["a", "\u{FEFF}b"]), ("\u{FEFF}", [""]),
            ("a\r", ["a"]), ("\r\n\r\n", ["", ""]), ("a\u{2028}b\n", ["a\u{2028}b"]),
        ] as [(String, [String])])
    func lines(text: String, expected: [String]) async {
        for chunk in [1, 2, 3, 1000] {
            let (lines, error) = await all(body(text, chunk: chunk).lines())
            #expect(lines == expected, "in chunks of \(chunk)")
            #expect(error == nil)
        }
    }

    @Test(
        "A line may have as many bytes as the limit, however it is cut", arguments: [1, 4, 5, 99])
    func limit(chunk: Int) async {
        let fits = await all(body("12345\n12345\r\n1", chunk: chunk).lines(maxBytes: 6))
        #expect(fits.items == ["12345", "12345", "1"])
        #expect(fits.error == nil)
        let (lines, error) = await all(body("12\n123456\n7\n", chunk: chunk).lines(maxBytes: 5))
        #expect(lines == ["12"])
        #expect((error as? ClientError)?.code == .tooLarge)
        #expect((error as? ClientError)?.message.contains("line 2") == true)
    }

    @Test("A line without end is refused at the limit, not collected")
    func endless() async {
        let text = String(repeating: "x", count: 100_000)
        let (lines, error) = await all(body(text, chunk: 100).lines(maxBytes: 1000))
        #expect(lines.isEmpty)
        #expect((error as? ClientError)?.code == .tooLarge)
    }

    @Test("A line that is not UTF-8 is reported by its number, after the lines before it")
    func invalid() async {
        let source = Portions(Data([0x61, 0x0A, 0xFF, 0x0A, 0x62]), of: 2, failure: nil)
        let (lines, error) = await all(ResponseBody(source: source).lines())
        #expect(lines == ["a"])
        #expect((error as? ClientError)?.code == .serialization)
        #expect((error as? ClientError)?.message == "line 2 is not valid UTF-8")
    }

    @Test("A body that breaks off gives its whole lines, then the error")
    func brokenOff() async {
        let (lines, error) = await all(body("a\nb\nhalf", chunk: 2, failure: BrokenOff()).lines())
        #expect(lines == ["a", "b"])
        #expect(error is BrokenOff)
    }

    @Test("Nothing is sent before the first line is read, and dropping the reader ends the body")
    func lazy() async throws {
        let transport = ScriptedTransport({ request in
            Response(to: request, status: 200, body: body("a\nb\n"))
        })
        let client = Client(transport: transport, stack: [], serializers: .standard)
        let lines = client.get(anywhere).lines()
        #expect(transport.requests.isEmpty)
        for try await line in lines {
            #expect(line == "a")
            break
        }
        #expect(transport.requests.count == 1)
    }

    @Test("An iterator whose call failed has ended, and sends nothing again")
    func failed() async throws {
        let transport = ScriptedTransport({ _ in throw ClientError(.connection, "none") })
        let client = Client(transport: transport, stack: [], serializers: .standard)
        var lines = client.get(anywhere).lines().makeAsyncIterator()
        do {
            _ = try await lines.next(isolation: #isolation)
            Issue.record("the call had to fail")
        } catch {
            #expect((error as? ClientError)?.code == .connection)
        }
        #expect(try await lines.next(isolation: #isolation) == nil)
        #expect(transport.requests.count == 1)
    }

    @Test("JSON lines are values, and blank lines are skipped", arguments: [1, 3, 1000])
    func jsonLines(chunk: Int) async {
        let text = "{\"a\":1}\n\n \t\r\n[2]\r\nnull\n\"é\""
        let (values, error) = await all(body(text, chunk: chunk).jsonLines())
        #expect(values == [["a": 1], [2], .null, "é"])
        #expect(error == nil)
    }

    @Test("A line that is not JSON is reported by its number, or skipped")
    func badJSON() async {
        let text = "1\n\n{\n2\n"
        let (values, error) = await all(body(text).jsonLines())
        #expect(values == [1])
        #expect((error as? ClientError)?.code == .serialization)
        #expect((error as? ClientError)?.message.hasPrefix("line 3 cannot be read: ") == true)
        let skipped = await all(body(text).jsonLines(skippingInvalid: true))
        #expect(skipped.items == [1, 2])
        #expect(skipped.error == nil)
    }

    @Test("A deep JSON line is an error, not the end of the process")
    func deepJSON() async {
        let text = "1\n" + String(repeating: "[", count: 500_000) + "\n"
        let (values, error) = await all(body(text, chunk: 10_000).jsonLines())
        #expect(values == [1])
        #expect((error as? ClientError)?.code == .serialization)
    }

    @Test("Lines become values of a type, and the error of a mismatch shows no content")
    func decoded() async {
        struct Item: Decodable, Sendable, Equatable { let id: Int }
        let items = await all(call("{\"id\":1}\n{\"id\":2}\n").jsonLines(of: Item.self))
        #expect(items.items == [Item(id: 1), Item(id: 2)])
        let bad = await all(call("{\"id\":\"hunter2\"}\n").jsonLines(of: Item.self))
        #expect((bad.error as? ClientError)?.code == .serialization)
        #expect((bad.error as? ClientError)?.message.contains("hunter2") == false)
    }

    @Test("The call's limit on lines applies")
    func callLimit() async {
        let transport = ScriptedTransport({ request in
            Response(to: request, status: 200, body: body("1\n1234567\n"))
        })
        struct ShortLines: Interceptor {
            func intercept(
                _ request: Request, context: Context, next: Next
            ) async throws -> Response {
                context[LineLimit.self] = 5
                return try await next(request)
            }
        }
        let client = Client(transport: transport, stack: [ShortLines()], serializers: .standard)
        let (values, error) = await all(client.get(anywhere).jsonLines())
        #expect(values == [1])
        #expect((error as? ClientError)?.code == .tooLarge)
        #expect(
            transport.requests.first?.headers[.accept]?.contains("application/x-ndjson") == true)
    }
}
