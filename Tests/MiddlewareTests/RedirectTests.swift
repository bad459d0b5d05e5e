// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Redirect")
struct RedirectTests {
    private static let secrets: HTTPHeaders = [
        "Authorization": "Bearer s", "Cookie": "s", "Proxy-Authorization": "s", "X-Api-Key": "s",
        "X-Custom": "c",
        "Accept": "text/x-keep", "Accept-Language": "en", "User-Agent": "u", "traceparent": "t",
    ]

    /// A mock that redirects by a table from URL to status and Location.
    private func transport(_ table: [String: (HTTPStatus, String)]) -> MockTransport {
        MockTransport { request in
            guard let (status, location) = table[request.url.absoluteString] else {
                return .ok(text: "end")
            }
            return .status(status, headers: ["Location": location], body: Data("moved".utf8))
        }
    }

    private func client(_ transport: MockTransport, _ redirect: Redirect = Redirect()) -> Client {
        Client(transport, [redirect])
    }

    @Test(
        "Escapes in a Location stay unchanged, even next to characters that must be escaped",
        arguments: [
            ("/a b%20c|", "http://a.example/a%20b%20c%7C"),
            ("/ü?u=x y%2Fz&d=%41", "http://a.example/%C3%BC?u=x%20y%2Fz&d=%41"),
            ("/%zz%20%", "http://a.example/%25zz%20%25"),
            ("//b.example/[%5B]#%20 ", "http://b.example/%5B%5B%5D#%20"),
            ("http://bücher.example/{%7D", "http://xn--bcher-kva.example/%7B%7D"),
            ("http://a.example/b/../c/./d", "http://a.example/c/d"),
        ])
    func escapes(location: String, expected: String) async throws {
        let transport = transport(["http://a.example/x": (302, location)])
        _ = try await client(transport).get(anywhere).response()
        #expect(transport.sent.last?.request.url.absoluteString == expected)
    }

    @Test("The content of a redirect may be long, but not endless", arguments: [3, 30])
    func content(chunks: Int) async throws {
        let chunk = Data(count: 4096)
        let transport = MockTransport { request in
            if request.url.path == "/end" { return .ok(text: "end") }
            return .stream(
                Array(repeating: chunk, count: chunks), status: 302, headers: ["Location": "/end"])
        }
        let call = client(transport).get("http://a.example/")
        if chunks == 3 {
            #expect(try await call.response().url.path == "/end")
        } else {
            let error = await #expect(throws: ClientError.self) { try await call.response() }
            #expect(error?.code == .redirect)
            #expect(transport.sent.count == 1)
        }
    }

    @Test(
        "Methods and bodies change by RFC 9110",
        arguments: [
            (301, HTTPMethod.post, HTTPMethod.get, ""), (302, .post, .get, ""),
            (303, .post, .get, ""), (303, .put, .get, ""),
            (303, .delete, .get, ""), (303, .head, .head, ""), (307, .post, .post, "hello"),
            (308, .post, .post, "hello"),
            (301, .put, .put, "hello"), (302, .put, .put, "hello"), (302, .patch, .patch, "hello"),
            (307, .put, .put, "hello"),
            (301, .delete, .delete, ""), (307, .delete, .delete, "hello"), (302, .get, .get, ""),
            (301, .head, .head, ""),
        ])
    func methods(status: Int, method: HTTPMethod, then: HTTPMethod, body: String) async throws {
        let transport = transport(["http://a.example/x": (HTTPStatus(status), "/y")])
        let content: RequestBody = method == .get || method == .head ? .empty : .text("hello")
        let digest: HTTPHeaders = content.isEmpty ? [:] : ["Repr-Digest": "sha-256=:AAAA:"]
        let response = try await client(transport)
            .request(method, anywhere, headers: digest, body: content).response()
        #expect(response.status == 200)
        #expect(response.url.absoluteString == "http://a.example/y")
        #expect(
            response.hops == [
                Hop(
                    status: HTTPStatus(status), url: try #require(URL(string: "http://a.example/x"))
                )
            ])
        let last = try #require(transport.sent.last)
        #expect(last.request.method == then)
        #expect(String(decoding: last.body, as: UTF8.self) == body)
        #expect(last.request.headers.contains(.contentType) == !body.isEmpty)
        // The digest of dropped content would be wrong (RFC 9530 §3).
        #expect(last.request.headers.contains("Repr-Digest") == !body.isEmpty)
    }

    @Test(
        "A change of origin removes credentials and unknown fields",
        arguments: [
            "http://b.example/y", "http://a.example:81/y", "https://a.example/y", "//b.example/y",
        ])
    func crossOrigin(location: String) async throws {
        let transport = transport(["http://a.example/x": (302, location)])
        _ = try await client(transport).get(anywhere, headers: Self.secrets).response()
        let names = try #require(transport.sent.last).request.headers.map(\.name.rawValue)
        #expect(Set(names) == ["Accept", "Accept-Language", "User-Agent", "traceparent"])
    }

    @Test("The same origin keeps all fields, even if it is spelled differently")
    func sameOrigin() async throws {
        let transport = transport(["http://a.example/x": (302, "HTTP://A.EXAMPLE:80/y")])
        _ = try await client(transport).get(anywhere, headers: Self.secrets).response()
        #expect(transport.sent.last?.request.headers == Self.secrets)
    }

    @Test("A dropped field stays dropped, also on the way back")
    func bounce() async throws {
        let transport = transport([
            "http://a.example/x": (302, "http://b.example/y"),
            "http://b.example/y": (302, "http://a.example/z"),
        ])
        _ = try await client(transport).get(anywhere, headers: Self.secrets).response()
        #expect(transport.sent.count == 3)
        #expect(transport.sent.last?.request.headers.contains(.authorization) == false)
    }

    @Test("More fields can be named sensitive")
    func sensitive() async throws {
        let transport = transport(["http://a.example/x": (302, "http://b.example/y")])
        _ = try await client(transport, Redirect(sensitiveHeaders: [.acceptLanguage]))
            .get(anywhere, headers: Self.secrets).response()
        #expect(transport.sent.last?.request.headers.contains(.acceptLanguage) == false)
    }

    @Test(
        "A redirect that must not be followed is an error with the head",
        arguments: [
            "file:///etc/passwd", "FILE:///etc/passwd", "ftp://a.example/", "data:text/plain,x",
            "javascript:alert(1)",
            "mailto:a@b", "http:///nohost", "http://", "http://a.example:-1/", "http://[::1",
            "http://a.example:99999/",
            "http://a b/",
        ])
    func refused(location: String) async throws {
        let transport = transport(["http://a.example/x": (302, location)])
        let error = await #expect(throws: ClientError.self) {
            try await client(transport).get(anywhere).response()
        }
        #expect(error?.code == .redirect)
        #expect(error?.response?.status == 302)
        #expect(transport.sentCount == 1)
    }

    @Test("A redirect from https to http is refused unless allowed, and drops credentials")
    func downgrade() async throws {
        let table: [String: (HTTPStatus, String)] = [
            "https://a.example/x": (302, "http://a.example/y")
        ]
        let refused = transport(table)
        #expect(await code(of: client(refused).get("https://a.example/x")) == .redirect)
        let allowed = transport(table)
        _ = try await client(allowed, Redirect(allowDowngrade: true))
            .get("https://a.example/x", headers: Self.secrets).response()
        #expect(allowed.sent.last?.request.headers.contains(.authorization) == false)
    }

    @Test("A loop ends at its first repetition, a growing chain at the limit")
    func loops() async throws {
        let circle = transport([
            "http://a.example/x": (302, "/y"), "http://a.example/y": (302, "/x"),
        ])
        #expect(await code(of: client(circle).get(anywhere)) == .redirect)
        #expect(circle.sentCount == 2)
        let growing = MockTransport { request in
            .status(302, headers: ["Location": request.url.absoluteString + "x"])
        }
        #expect(await code(of: client(growing).get(anywhere)) == .redirect)
        #expect(growing.sentCount == 11)
    }

    @Test("Redirect hops do not count against the sends of a call")
    func hopsAndSends() async throws {
        let transport = MockTransport { request in
            let number = Int(request.url.lastPathComponent) ?? 0
            return number < 18
                ? .status(302, headers: ["Location": "/\(number + 1)"]) : .ok(text: "end")
        }
        let response = try await client(transport, Redirect(limit: 20)).get("http://a.example/0")
            .response()
        #expect(response.hops.count == 18)
        #expect(response.attempts == 19)
    }

    @Test(
        "Responses that are not redirects are returned unchanged",
        arguments: [
            (200, "/y"), (300, "/y"), (304, "/y"), (305, "/y"), (302, ""), (201, "/y"),
        ])
    func notRedirects(status: Int, location: String) async throws {
        let transport = transport(["http://a.example/x": (HTTPStatus(status), location)])
        #expect(try await client(transport).get(anywhere).response().status.code == status)
        #expect(transport.sentCount == 1)
    }

    @Test("Several different Location fields are refused, several equal ones are one")
    func locations() async throws {
        let transport = MockTransport { request in
            let other = request.url.path() == "/two" ? "/b" : "/a"
            let lines: HTTPHeaders = ["Location": "/a", "location": other]
            return request.url.path() == "/a" ? .ok(text: "end") : .status(302, headers: lines)
        }
        let client = client(transport)
        #expect(try await client.get("http://a.example/one").response().url.path() == "/a")
        let error = await #expect(throws: ClientError.self) {
            try await client.get("http://a.example/two").response()
        }
        #expect(error?.code == .redirect && error?.response?.status == 302)
        #expect(transport.sent.map { $0.request.url.path() } == ["/one", "/a", "/two"])
    }

    @Test("Without redirects the response comes with its body")
    func disabled() async throws {
        let transport = transport(["http://a.example/x": (302, "/y")])
        let response = try await client(transport, Redirect(limit: 0)).get(anywhere).response()
        #expect(try await response.body.collect(upTo: 10) == Data("moved".utf8))
    }

    @Test("If the body cannot be sent again, the redirect is returned")
    func oneShotBody() async throws {
        let transport = transport(["http://a.example/x": (307, "/y")])
        let body = RequestBody.stream {
            AsyncStream<Data> {
                $0.yield(Data("x".utf8)); $0.finish()
            }
        }
        #expect(try await client(transport).post(anywhere, body: body).response().status == 307)
        #expect(transport.sentCount == 1)
    }

    @Test("A validator inside does not hide a redirect")
    func validatorInside() async throws {
        let transport = transport(["http://a.example/x": (302, "/y")])
        #expect(
            try await Client(transport, [.redirect(), .validate()]).get(anywhere).response().status
                == 200)
    }

    @Test("User information in a Location does not become a credential")
    func userInformation() async throws {
        let transport = transport(["http://a.example/x": (302, "http://evil:s3cret@a.example/y")])
        _ = try await client(transport).get(anywhere).response()
        let last = try #require(transport.sent.last).request
        #expect(last.url.absoluteString == "http://a.example/y")
        #expect(!last.headers.contains(.authorization))
    }

    @Test(
        "Locations resolve against the current hop",
        arguments: [
            ("z", "http://a.example/dir/z"), ("../z", "http://a.example/z"),
            ("?q=1", "http://a.example/dir/x?q=1"),
            ("/z;p=1/x;y", "http://a.example/z;p=1/x;y"),
            ("/%E2%98%95%2Fx", "http://a.example/%E2%98%95%2Fx"),
            ("/é", "http://a.example/%C3%A9"), ("/z#f", "http://a.example/z#f"),
        ])
    func resolving(location: String, expected: String) async throws {
        let transport = transport(["http://a.example/dir/x": (302, location)])
        #expect(
            try await client(transport).get("http://a.example/dir/x").response().url.absoluteString
                == expected)
    }

    @Test("One deadline covers all hops")
    func deadline() async throws {
        let clock = ManualClock()
        let transport = MockTransport { request in
            .status(302, headers: ["Location": request.url.absoluteString + "x"]).delayed(
                by: .seconds(3))
        }
        let client = Client(transport, clock: clock, [.deadline(.seconds(10)), .redirect()])
        let call = Task { await code(of: client.get(anywhere)) }
        for _ in 0..<4 {
            try await clock.waitForTimers(2)
            clock.advance(by: .seconds(3))
        }
        #expect(await call.value == .deadlineExceeded)
        #expect(transport.sentCount == 4)
    }
}
