// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeSerializers

@Suite("Received parts")
struct ReceivedPartsTests {
    private func call(_ content: String, chunk: Int = 1, type: String? = nil) -> Call {
        let bytes = Data(content.utf8)
        let chunks = stride(from: 0, to: bytes.count, by: chunk)
            .map { bytes[$0..<min($0 + chunk, bytes.count)] }
        let transport = MockTransport { _ in
            .stream(chunks, headers: ["Content-Type": type ?? "multipart/mixed; boundary=\"B b\""])
        }
        return Client(transport: transport, stack: [], serializers: SerializerTable())
            .get(anywhere)
    }

    @Test("Parts arrive in order, whatever the chunks", arguments: [1, 2, 3, 7, 1000])
    func parts(chunk: Int) async throws {
        let content =
            "a preamble\r\n--B bx\r\n--B b \t\r\nContent-Type: application/json\r\nX-A: 1\r\n\r\n{\"a\":1}\r\n"
            + "--B b\r\n\r\nno headers\r\n--B bb\r\n-- B b\r\n\r\n--B b\r\n\r\n\r\n--B b--\r\nan epilogue"
        var parts: [ReceivedPart] = []
        for try await part in call(content, chunk: chunk).parts() { parts.append(part) }
        #expect(
            parts.map { String(decoding: $0.content, as: UTF8.self) } == [
                "{\"a\":1}", "no headers\r\n--B bb\r\n-- B b\r\n", "",
            ])
        #expect(parts.first?.type == .json && parts.first?.headers["X-A"] == "1")
        #expect(parts.last?.type == .plainText)
    }

    @Test("A header field of a part may be folded", arguments: [1, 1000])
    func folded(chunk: Int) async throws {
        let content =
            "--B b\r\nContent-Type: text/plain;\r\n\tcharset=utf-8;\r\n  x=y\r\nX-A: 1\r\n\r\n folded\r\n"
            + "--B b--"
        var iterator = call(content, chunk: chunk).parts().makeAsyncIterator()
        let part = try #require(try await iterator.next())
        #expect(part.type[parameter: "charset"] == "utf-8" && part.type[parameter: "x"] == "y")
        #expect(part.headers.count == 2 && part.content == Data(" folded".utf8))
    }

    @Test("A field with a control character is kept, and a field that no section may have fails")
    func fields() async throws {
        func content(_ field: String) -> String { "--B b\r\n\(field)\r\n\r\nx\r\n--B b--" }
        var iterator = call(content("X-A: a\u{1B}b")).parts().makeAsyncIterator()
        #expect(try await iterator.next()?.headers["X-A"] == "a\u{1B}b")
        for field in ["Content-Type : text/html", "X-A: a\rb", "X-A: a\0b"] {
            await expectError(.serialization) {
                for try await part in call(content(field)).parts() { Issue.record("\(part)") }
            }
        }
    }

    @Test("A limit may be as large as a number can be")
    func unlimited() async throws {
        let content = Data("--B b\r\n\r\nx\r\n--B b--".utf8)
        let chunks = AsyncStream<Data> { stream in
            for byte in content { stream.yield(Data([byte])) }
            stream.finish()
        }
        let response = Response(
            to: Request(.get, anywhere), status: 200,
            headers: ["Content-Type": "multipart/mixed; boundary=\"B b\""],
            body: ResponseBody(chunks))
        var iterator = response.parts(maxBytes: .max).makeAsyncIterator()
        #expect(try await iterator.next()?.content == Data("x".utf8))
    }

    @Test("The first boundary may stand at the very beginning")
    func first() async throws {
        var iterator = call("--B b\r\n\r\nx\r\n--B b--").parts().makeAsyncIterator()
        #expect(try await iterator.next()?.content == Data("x".utf8))
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
    }

    @Test(
        "Cut off, too large or non-multipart content is an error after the parts before it",
        arguments: [
            ("--B b\r\n\r\nx\r\n--B b\r\n\r\ny", nil, ClientError.Code.incomplete, 1),
            ("", nil, .incomplete, 0), ("x", "text/plain", .serialization, 0),
            ("x", "multipart/mixed", .serialization, 0),
            ("--B b\r\nno colon\r\n\r\nx\r\n--B b--", nil, .serialization, 0),
            (
                "--B b\r\n\r\n" + String(repeating: "x", count: 2_000_000) + "\r\n--B b--", nil,
                .tooLarge, 0
            ),
            (
                "--B b\r\nX: " + String(repeating: "x", count: 20_000) + "\r\n\r\n\r\n--B b--", nil,
                .tooLarge, 0
            ),
        ] as [(String, String?, ClientError.Code, Int)])
    func faults(content: String, type: String?, code: ClientError.Code, count: Int) async throws {
        var got = 0
        do {
            for try await _ in call(content, chunk: 1000, type: type).parts() { got += 1 }
            Issue.record("no error")
        } catch let error as ClientError {
            #expect(error.code == code)
        }
        #expect(got == count)
    }
}
