// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import Turnpike
import TurnpikeCache
import TurnpikeCurl
import TurnpikeTesting

/// What the gates do is the same over every transport.
@Suite("Gates over each transport")
struct TransportGateTests {
    enum Road: CaseIterable { case mock, urlSession, curl }

    private struct Answer {
        var status: HTTPStatus = .ok
        var headers: HTTPHeaders = [:]
        var text = ""
    }

    private let server: TestServer

    init() throws { server = try TestServer() }

    private func client(
        _ road: Road, _ stack: Stack,
        _ answer: @escaping @Sendable (HTTPMethod, String, HTTPHeaders, Data) -> Answer
    ) throws -> Client {
        let transport: any Transport
        switch road {
        case .mock:
            transport = MockTransport { request in
                let answer = answer(
                    request.method, request.targetURI.path, request.headers,
                    request.body.inMemory ?? Data())
                return .status(answer.status, headers: answer.headers, body: Data(answer.text.utf8))
            }
        case .urlSession: transport = URLSessionTransport()
        case .curl: transport = try CurlTransport()
        }
        server.fallback(
            .handler { request in
                let answer = answer(request.method, request.path, request.headers, request.body)
                return .status(answer.status, headers: answer.headers, body: Data(answer.text.utf8))
            })
        return Client(baseURL: server.target, transport: transport, stack: stack)
    }

    @Test("A GET and a POST are one line each", arguments: Road.allCases)
    func oneLine(road: Road) async throws {
        let client = try client(road, .standard) { method, _, _, body in
            Answer(text: "\(method) \(String(decoding: body, as: UTF8.self))")
        }
        #expect(try await client.get("/").string() == "GET ")
        #expect(try await client.post("/", body: .text("hello")).string() == "POST hello")
    }

    @Test("A redirect is followed", arguments: Road.allCases, [301, 308])
    func redirect(road: Road, status: Int) async throws {
        let client = try client(road, .standard) { method, path, _, _ in
            guard path == "/old" else { return Answer(text: "\(method) \(path)") }
            return Answer(
                status: HTTPStatus(status), headers: ["Location": "/new"], text: "moved")
        }
        #expect(try await client.get("old").string() == "GET /new")
    }

    @Test("Redirects without end are an error", arguments: Road.allCases)
    func endless(road: Road) async throws {
        let sent = Mutex(0)
        let client = try client(road, .standard) { _, path, _, _ in
            sent.withLock { $0 += 1 }
            return Answer(status: 302, headers: ["Location": path == "/ping" ? "/pong" : "/ping"])
        }
        let error = await #expect(throws: ClientError.self) { try await client.get("ping").data() }
        #expect(error?.code == .redirect)
        #expect(sent.withLock { $0 } == 2)
    }

    @Test("A cookie that a response sets is sent from then on", arguments: Road.allCases)
    func cookie(road: Road) async throws {
        let client = try client(road, [.cookies()]) { _, path, headers, _ in
            path == "/set"
                ? Answer(headers: ["Set-Cookie": "session=a1; Path=/; HttpOnly"])
                : Answer(text: headers[.cookie] ?? "none")
        }
        #expect(try await client.get("any").string() == "none")
        _ = try await client.get("set").data()
        #expect(try await client.get("any").string() == "session=a1")
    }

    @Test(
        "A stored response is validated, takes over the fields of a 304, and is replaced by a 200",
        arguments: Road.allCases)
    func validation(road: Road) async throws {
        let version = Mutex(0)
        let client = try client(road, [.cache()]) { _, _, headers, _ in
            version.withLock { version in
                let tag = "\"\(version)\""
                let isKnown = headers[.ifNoneMatch] == tag
                defer {
                    // The resource has changed when it is asked for the next time.
                    if isKnown { version += 1 }
                }
                return Answer(
                    status: isKnown ? 304 : 200,
                    headers: [
                        "ETag": tag, "Cache-Control": "no-cache",
                        "X-From": isKnown ? "validation" : "origin",
                    ], text: isKnown ? "" : "version \(version)")
            }
        }
        for expected in 0..<3 {
            for source in ["origin", "validation"] {
                let response = try await client.get("/").response()
                let content = try await response.body.collect(upTo: 100)
                #expect(response.status == .ok)
                #expect(response.headers[.eTag] == "\"\(expected)\"")
                #expect(response.headers["X-From"] == source)
                #expect(content == Data("version \(expected)".utf8))
            }
        }
        #expect(version.withLock { $0 } == 3)
    }
}
