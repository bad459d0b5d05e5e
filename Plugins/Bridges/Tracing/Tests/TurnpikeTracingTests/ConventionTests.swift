// SPDX-License-Identifier: Apache-2.0

import Foundation
import InMemoryTracing
import Testing
import Tracing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeTracing

/// OpenTelemetry's semantic conventions for HTTP client spans, as a table.
@Suite("Attributes by the semantic conventions", .timeLimit(.minutes(5)))
struct ConventionTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var method: HTTPMethod = .get
        var url: Target = "https://example.com/users/1"
        var template: String?
        var response = MockResponse.status(200)
        var name = "GET"
        /// The attributes besides the attributes of every span.
        var attributes: [String: String]
        /// The description of an error, which is empty if the status is sufficient.
        var error: String?
    }

    static let rows = [
        Row(testDescription: "a success", attributes: ["http.response.status_code": "200"]),
        Row(
            testDescription: "a client error", response: .status(404),
            attributes: ["http.response.status_code": "404", "error.type": "404"], error: ""),
        Row(
            testDescription: "a server error", response: .status(503),
            attributes: ["http.response.status_code": "503", "error.type": "503"], error: ""),
        Row(
            testDescription: "a redirect that nobody follows", response: .status(302),
            attributes: ["http.response.status_code": "302"]),
        Row(
            testDescription: "a method that the conventions do not name", method: "PURGE",
            name: "HTTP",
            attributes: [
                "http.request.method": "_OTHER", "http.request.method_original": "PURGE",
                "http.response.status_code": "200",
            ]),
        Row(
            testDescription: "QUERY", method: .query, name: "QUERY",
            attributes: ["http.request.method": "QUERY", "http.response.status_code": "200"]),
        Row(
            testDescription: "a template", template: "/users/{id}", name: "GET /users/{id}",
            attributes: ["url.template": "/users/{id}", "http.response.status_code": "200"]),
        Row(
            testDescription: "a port", url: "http://example.com:8080/a?b=c",
            attributes: [
                "server.port": "8080", "url.full": "http://example.com:8080/a?b=c",
                "http.response.status_code": "200",
            ]),
        Row(
            testDescription: "secrets in the URL",
            url: "https://ada:lovelace@example.com/a?token=hunter2secret&page=2",
            attributes: [
                "url.full": "https://example.com/a?token=REDACTED&page=2",
                "http.response.status_code": "200",
            ]),
        Row(
            testDescription: "no connection", response: .connectionRefused,
            attributes: ["error.type": "connection"], error: "refuses"),
        Row(
            testDescription: "an error of a user's", response: .failure(Broken()),
            attributes: ["error.type": "Broken"], error: "Bearer REDACTED"),
    ]

    struct Broken: Error, CustomStringConvertible {
        let description = "it broke with Bearer abcdefghijklmnop1234567890"
    }

    @Test("Both spans have the attributes of the table, and no others", arguments: rows)
    func table(row: Row) async throws {
        let traced = Traced(MockTransport { _ in row.response })
        var call = traced.client.request(row.method, row.url)
        if let template = row.template { call = call.urlTemplate(template) }
        _ = try? await call.data()
        #expect(traced.tracer.activeSpans.isEmpty)
        var expected = [
            "http.request.method": "GET", "server.address": "example.com", "server.port": "443",
            "url.full": "https://example.com/users/1",
        ]
        expected.merge(row.attributes) { $1 }
        for spans in [traced.calls, traced.attempts] {
            let span = try #require(spans.first)
            #expect(spans.count == 1)
            #expect(span.operationName == row.name)
            #expect(span.texts == expected)
            #expect(span.isError == (row.error != nil))
            let message = span.status?.message ?? ""
            let words = row.error ?? ""
            #expect(words.isEmpty ? message.isEmpty : message.contains(words))
        }
    }

    @Test("The version of the protocol is told where the transport knows it")
    func version() async throws {
        let server = try TestServer()
        defer { server.stop() }
        server.route("/", .ok(text: "x"))
        let traced = Traced(URLSessionTransport())
        #expect(try await traced.client.get(server.target).string() == "x")
        let version = traced.attempts.first?.texts["network.protocol.version"]
        // On Linux, FoundationNetworking does not report the version.
        #expect(version == nil || version == "1.1")
        let head = ResponseHead(status: .ok, url: server.url, version: "2")
        let known = Traced(Answering { Response(head: head) })
        try await known.client.get(anywhere).empty()
        #expect(known.attempts.first?.texts["network.protocol.version"] == "2")
        #expect(known.calls.first?.texts["network.protocol.version"] == "2")
    }

    private struct Answering: Transport {
        let answer: @Sendable () -> Response
        var capabilities: TransportCapabilities { [] }
        func send(_ request: Request, context: Context) async throws -> Response { answer() }
        func shutdown() async {}
    }

    @Test("A field that is not valid HTTP is not injected, and one of the caller's is replaced")
    func injector() {
        var headers: HTTPHeaders = ["traceparent": "mine"]
        HeaderInjector().inject("theirs", forKey: "traceparent", into: &headers)
        HeaderInjector().inject("a\r\nX-Evil: 1", forKey: "baggage", into: &headers)
        HeaderInjector().inject("x", forKey: "not a name", into: &headers)
        #expect(headers == ["traceparent": "theirs"] && headers.defect == nil)
    }
}
