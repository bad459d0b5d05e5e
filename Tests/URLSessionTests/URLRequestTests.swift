// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeCore
import TurnpikeURLSession

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("URLRequest, in and out")
struct URLRequestTests {
    private func foundation(_ text: String = "http://a.example/x?q=1") throws -> URLRequest {
        URLRequest(url: try #require(URL(string: text)))
    }

    @Test("Method, URL, fields and content are taken over; the length is the transport's")
    func takenOver() throws {
        var original = try foundation()
        original.httpMethod = "PATCH"
        original.httpBody = Data("content".utf8)
        original.setValue("text/plain", forHTTPHeaderField: "Content-Type")
        original.setValue("7", forHTTPHeaderField: "Content-Length")
        original.addValue("1", forHTTPHeaderField: "X-A")
        original.addValue("2", forHTTPHeaderField: "X-A")
        let request = try Request(original)
        #expect(request.method == .patch && request.url == original.url)
        #expect(request.headers[.contentType] == "text/plain")
        #expect(request.headers["X-A"]?.replacing(" ", with: "") == "1,2")
        #expect(!request.headers.contains(.contentLength))
        #expect(request.body.inMemory == Data("content".utf8) && request.fault == nil)
        #expect(try Request(foundation()).body.isEmpty)
    }

    @Test("Several Cookie lines are written as one")
    func cookies() throws {
        var request = Request(.get, "http://a.example/x", headers: ["Cookie": "a=1"])
        request.headers.append("cookie", "b=2")
        #expect(try URLRequest(request).value(forHTTPHeaderField: "Cookie") == "a=1; b=2")
    }

    @Test("A converted request converts back unchanged")
    func roundTrip() throws {
        let target: Target = "http://a.example/p%20q?x=%26&y#f"
        let request = Request(
            .put, target, headers: ["Accept": "a/b", "X-Empty": ""], body: .text("café"))
        let again = try Request(URLRequest(request))
        #expect(again.method == .put && again.url == request.url)
        #expect(again.body.inMemory == Data("café".utf8))
        // The type that the body has would be sent, too.
        #expect(again.headers[.contentType] == "text/plain; charset=utf-8")
        #expect(again.headers.count == 3 && again.headers["X-Empty"] == "")
        let typed = try URLRequest(
            Request(.post, target, headers: ["Content-Type": "a/b"], body: .json([1])))
        #expect(typed.value(forHTTPHeaderField: "Content-Type") == "a/b")
        let bare = try URLRequest(Request(.get, target))
        #expect(bare.httpMethod == "GET" && bare.httpBody == nil)
    }

    @Test("A request that does not fit is refused with the reason")
    func refused() throws {
        var streamed = try foundation()
        streamed.httpBodyStream = InputStream(data: Data("x".utf8))
        let first = #expect(throws: ClientError.self) { try Request(streamed) }
        #expect(first?.code == .invalidRequest && first?.message.contains("stream") == true)
        let chunks = AsyncStream<Data> { $0.finish() }
        let file = URL(filePath: "/etc/hostname")
        let followed = RequestBody.text("abc").followed(by: ["X-Count": "3"])
        for body in [RequestBody.stream { chunks }, .file(file), followed] {
            let error = #expect(throws: ClientError.self) {
                try URLRequest(Request(.post, "http://a.example/", body: body))
            }
            #expect(error?.code == .unsupported)
        }
    }

    @Test("An invalid request does not become a URLRequest for another URL")
    func defect() throws {
        let request = Request(.get, "//elsewhere", headers: ["X-A": "1"])
        let error = #expect(throws: ClientError.self) { try URLRequest(request) }
        #expect(error?.code == .invalidRequest)
        var bad = Request(.get, "http://a.example/")
        bad.headers["X-A"] = "s3cret\r\nX-B: 1"
        let other = #expect(throws: ClientError.self) { try URLRequest(bad) }
        #expect(other?.code == .invalidRequest && "\(other as Any)".contains("s3cret") == false)
    }
}
