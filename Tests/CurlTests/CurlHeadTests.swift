// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike

@testable import TurnpikeCurl

@Suite("The head of a response, from its lines")
struct CurlHeadTests {
    private let url = URL(filePath: "/")

    private func opening(
        _ text: String, isHead: Bool = false
    ) -> Result<Exchange.Head, ClientError> {
        unsafe Array(text.utf8).withUnsafeBufferPointer {
            unsafe CurlHead.opening(of: $0, url: url, isHead: isHead)
        }
    }

    private func opening(fields: String, status: Int = 200) throws -> Exchange.Head {
        try opening("HTTP/1.1 \(status) x\r\n\(fields)\r\n").get()
    }

    private func fault(_ text: String) -> ClientError? {
        guard case .failure(let error) = opening(text) else { return nil }
        return error
    }

    @Test(
        "The first line tells status and version",
        arguments: [
            ("HTTP/1.1 200 OK", 200, "1.1"), ("HTTP/1.0 404 Not Found", 404, "1.0"),
            ("HTTP/2 204", 204, "2"), ("HTTP/2 204 ", 204, "2"), ("HTTP/1.1 999 x", 999, "1.1"),
            ("HTTP/1.1 100 x", 100, "1.1"),
        ])
    func statusLine(line: String, status: Int, version: String) throws {
        let head = try opening(line + "\r\n\r\n").get().response
        #expect(head.status == HTTPStatus(status))
        #expect(head.version == version)
        #expect(head.url == url)
    }

    @Test(
        "A first line of another form is not an HTTP status line",
        arguments: [
            "", "\r\n", "HTTP/1.1\r\n", "HTTP/1.1 \r\n", "HTTP/1.1 20\r\n", "HTTP/1.1 2000 x\r\n",
            "HTTP/1.1 2x0 OK\r\n", "HTTP/1.1 099 x\r\n", "HTTP/1.1 000 x\r\n", "HTTP 1.1/200\r\n",
            "200 OK HTTP/1.1\r\n", "Http/1.1 200 OK\r\n",
        ])
    func noStatusLine(text: String) {
        #expect(fault(text)?.code == .protocol)
    }

    @Test("Fields keep their order, spelling and lines, and lose the blanks around their values")
    func fields() throws {
        let headers = try opening(fields: "x-b:1\r\nX-A:\t 2 3 \r\nX-B: \r\netag: e\r\n")
            .response.headers
        #expect(
            headers.map { "\($0.name.rawValue)=\($0.value)" } == [
                "x-b=1", "X-A=2 3", "X-B=", "etag=e",
            ])
    }

    @Test("A value that is not UTF-8 is read as Latin-1")
    func latin1() throws {
        let line: [UInt8] = Array("HTTP/1.1 200 x\r\nA: caf".utf8) + [0xE9, 13, 10, 13, 10]
        let opening = unsafe line.withUnsafeBufferPointer {
            unsafe CurlHead.opening(of: $0, url: url, isHead: false)
        }
        #expect(try opening.get().response.headers["A"] == "café")
    }

    @Test("Nothing behind the empty line is read")
    func end() throws {
        let opening = try opening("HTTP/1.1 200 x\r\nA: 1\r\n\r\nB: 2\r\n").get()
        #expect(opening.response.headers.count == 1)
    }

    @Test(
        "Line feeds alone end all lines, or none",
        arguments: [
            ("HTTP/1.1 200 x\nA: 1\nB: 2\n\n", 2), ("HTTP/1.1 200 x\nA: 1\r\nB: 2\n\n", 2),
            ("HTTP/1.1 200 x\r\nA: 1\nB: 2\r\n\r\n", nil), ("HTTP/1.1 200 x\r\n\n", nil),
        ])
    func lineFeeds(text: String, count: Int?) {
        #expect((try? opening(text).get())?.response.headers.count == count)
        if count == nil { #expect(fault(text)?.code == .protocol) }
    }

    @Test("A folded field is one, unless it frames the content")
    func folded() throws {
        let headers = try opening(fields: "A: a\r\n  b:c\r\n\td\r\nB: 1\r\n").response.headers
        #expect(headers["A"]?.split { " \t".contains($0) } == ["a", "b:c", "d"])
        #expect(headers["B"] == "1")
        for name in ["Content-Length", "Transfer-Encoding"] {
            let text = "HTTP/1.1 200 x\r\n\(name): \r\n 2\r\n\r\n"
            #expect(fault(text)?.message.contains("is folded") == true)
        }
    }

    @Test(
        "A line that is no field is refused",
        arguments: ["A\r\n", " A: 1\r\n", "A b: 1\r\n", ": 1\r\n", "A: a\u{0}b\r\n", "A: a\rb\r\n"])
    func noField(line: String) {
        #expect(fault("HTTP/1.1 200 x\r\n\(line)\r\n")?.code == .protocol)
    }

    // MARK: The length

    @Test(
        "The length is a number, once or several times the same",
        arguments: [
            ("0", 0), ("12", 12), ("007", 7), ("5, 5", 5), ("5,5", 5),
            ("9223372036854775807", Int64.max),
        ])
    func length(value: String, length: Int64) throws {
        let opening = try opening(fields: "Content-Length: \(value)\r\n")
        #expect(opening.length == length && opening.encodedLength == length)
        #expect(!opening.endsWithConnection)
    }

    @Test(
        "A length that is no number, or several, is refused",
        arguments: [
            "", "x", "-1", "+1", "1.0", "0x1", "1 2", "5, 6", "5,", ",5", "9223372036854775808",
        ])
    func noLength(value: String) {
        #expect(
            fault("HTTP/1.1 200 x\r\nContent-Length: \(value)\r\n\r\n")?.code == .protocol)
    }

    @Test("Two lines of different lengths are refused")
    func twoLengths() {
        let text = "HTTP/1.1 200 x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"
        #expect(fault(text)?.message.contains("two different values") == true)
    }

    @Test("A length beside chunks has no meaning")
    func chunked() throws {
        let opening = try opening(
            fields: "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n")
        #expect(opening.length == nil && opening.encodedLength == nil)
        #expect(!opening.response.headers.contains(.contentLength))
        #expect(!opening.endsWithConnection)
    }

    @Test("Without either the content ends with its connection")
    func unframed() throws {
        let opening = try opening(fields: "")
        #expect(opening.length == nil && opening.endsWithConnection)
        #expect(try self.opening(fields: "Transfer-Encoding: identity\r\n").endsWithConnection)
    }

    @Test("The head alone answers HEAD, and some statuses", arguments: [204, 304])
    func noContent(status: Int) throws {
        let fields = "Content-Length: 5\r\n"
        let opening = try opening(fields: fields, status: status)
        #expect(opening.length == 0 && opening.encodedLength == nil)
        let head = try self.opening("HTTP/1.1 200 x\r\n\(fields)\r\n", isHead: true).get()
        #expect(head.length == 0 && head.response.headers[.contentLength] == "5")
    }

    @Test("Content that is chunked twice is refused; a line that is repeated is not")
    func chunkedTwice() throws {
        let twice = "HTTP/1.1 200 x\r\nTransfer-Encoding: chunked , Chunked\r\n\r\n"
        #expect(fault(twice)?.code == .protocol)
        let line = "Transfer-Encoding: chunked\r\n"
        #expect(try opening(fields: line + line).length == nil)
    }

    @Test("A transfer coding that was not asked for is refused, where there is content")
    func coding() throws {
        let fields = "Transfer-Encoding: gzip, chunked\r\n"
        #expect(fault("HTTP/1.1 200 x\r\n\(fields)\r\n")?.code == .decompression)
        #expect(try opening(fields: fields, status: 304).length == 0)
    }

    // MARK: Parts

    @Test("Trailer lines are fields like others, and need no end")
    func trailers() throws {
        func trailers(_ text: String) -> Result<HTTPHeaders, ClientError> {
            unsafe Array(text.utf8).withUnsafeBufferPointer { unsafe CurlHead.trailers(of: $0) }
        }
        #expect(try trailers("A: 1\r\nB: 2\r\n").get() == ["A": "1", "B": "2"])
        #expect(try trailers("A: 1\r\n\r\nB: 2").get() == ["A": "1"])
        #expect(try trailers("").get().isEmpty)
        for text in ["A\r\n", "A: \u{0}\r\n"] {
            expectError(.protocol) { try trailers(text).get() }
        }
    }

    @Test(
        "Bytes of a head tell whether they are of HTTP/1",
        arguments: [("HTTP/1.1 200", true), ("HTTP/2 200", false), ("HTTP/1", false), ("", false)])
    func version(text: String, isHTTP1: Bool) {
        var bytes = Array(text.utf8)
        unsafe bytes.withUnsafeMutableBytes {
            let head = unsafe HeadBytes(start: $0.baseAddress, count: $0.count)
            #expect(head.isHTTP1 == isHTTP1)
        }
    }
}
