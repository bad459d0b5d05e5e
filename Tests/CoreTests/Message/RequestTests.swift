// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TurnpikeCore

@Suite("Request")
struct RequestTests {
    private let url = URL(string: "https://user:s3cret@h.example/p?token=s3cret&q=1#code=s3cret")

    @Test("A request is one pointer wide, and changing a copy does not change the original")
    func copyOnWrite() throws {
        #expect(MemoryLayout<Request>.size == MemoryLayout<AnyObject>.size)
        let original = Request(.get, try #require(URL(string: "http://a.example/")))
        var copy = original
        copy.headers["X"] = "1"
        copy.method = .post
        copy.body = .text("x")
        copy.options.isRetryable = true
        #expect(original.headers.isEmpty)
        #expect(original.method == .get)
        #expect(original.body.isEmpty)
        #expect(!original.options.isRetryable)
    }

    @Test("The caller decides first whether a request may be repeated, then its method or key")
    func repeatable() throws {
        let url = try #require(URL(string: "http://a.example/"))
        #expect(Request(.put, url).isRepeatable)
        #expect(!Request(.post, url).isRepeatable)
        let keyed: HTTPHeaders = ["Idempotency-Key": "k"]
        #expect(Request(.post, url, headers: keyed).isRepeatable)
        for method: HTTPMethod in [.get, .post] {
            var request = Request(method, url, headers: keyed)
            request.options[RetryableOption.self] = false
            #expect(!request.isRepeatable)
            request.options[RetryableOption.self] = true
            #expect(request.isRepeatable)
        }
    }

    @Test("Prints no secret, not even in a dump")
    func redaction() throws {
        let request = Request(
            .post, try #require(url), headers: ["Authorization": "Basic s3cret", "X-Keep": "kept"],
            body: .text("s3cret"))
        var dumped = ""
        dump(request, to: &dumped)
        for text in [
            "\(request)", String(reflecting: request), dumped, "\(RequestSummary(request))",
        ] {
            #expect(!text.contains("s3cret"), "\(text)")
        }
        #expect(String(reflecting: request).contains("kept"))
        #expect(
            "\(request)" == "POST https://REDACTED@h.example/p?token=REDACTED&q=1#code=REDACTED")
    }

    @Test(
        "Framing fields are set by the transport alone",
        arguments: [
            ("Transfer-Encoding", "chunked"), ("Content-Length", "2"), ("Host", "evil"),
            ("Connection", "close"), ("Upgrade", "x"), ("Keep-Alive", "1"),
            ("content-length", "05"),
        ])
    func framing(name: String, value: String) throws {
        var request = Request(
            .post, try #require(URL(string: "http://a.example:81/")), body: .text("hello"))
        request.headers.append(HTTPHeaders.Name(name), value)
        #expect(request.fault != nil)
    }

    @Test("Framing fields with the value that the transport would set are accepted")
    func harmlessFraming() throws {
        let request = Request(
            .post, try #require(URL(string: "http://a.example:81/")),
            headers: ["Content-Length": "5", "Host": "a.example:81"], body: .text("hello"))
        #expect(request.fault == nil)
    }

    @Test("A bad method is refused", arguments: ["", "GE T", "GET\r\nX: y", "GÉT"])
    func methods(name: String) throws {
        let request = Request(HTTPMethod(name), try #require(URL(string: "http://a.example/")))
        let fault = try #require(request.fault)
        #expect(!fault.contains("X: y"))
    }

    @Test("An option keeps its value until it is set to nil")
    func options() {
        enum Wish: OptionKey { typealias Value = Int }
        enum Other: OptionKey { typealias Value = Int }
        var options = RequestOptions()
        #expect(options.isEmpty)
        options[Wish.self] = 1
        options[Other.self] = 2
        #expect(options[Wish.self] == 1)
        options[Other.self] = nil
        #expect(options[Other.self] == nil)
        #expect(options[Wish.self] == 1)
    }
}
