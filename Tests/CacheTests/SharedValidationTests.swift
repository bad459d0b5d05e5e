// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCache
@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Waiting for the validation of another caller")
struct SharedValidationTests {
    private static let fresh: HTTPHeaders = ["Cache-Control": "max-age=60", "ETag": "\"1\""]

    /// Two callers of one stale entry, the second of whom waits for the first one's validation.
    private func together(
        _ answer: MockResponse, _ first: HTTPHeaders = [:], _ second: HTTPHeaders = [:]
    ) async throws -> ([CachedClient.Answer], CachedClient) {
        let (calls, cached) = try await started(answer, first, second, inside: [])
        return ([try await calls[0].value, try await calls[1].value], cached)
    }

    private func started(
        _ answer: MockResponse, _ first: HTTPHeaders, _ second: HTTPHeaders,
        inside: [any Gate]
    ) async throws -> ([Task<CachedClient.Answer, any Error>], CachedClient) {
        try await CachedClient.twoCallers(
            first, second, of: .ok(text: "one", headers: Self.fresh), inside: inside
        ) { _ in answer }
    }

    @Test("A shared changed response is counted and logged for each caller")
    func changed() async throws {
        let headers: HTTPHeaders = ["Cache-Control": "max-age=60", "ETag": "\"2\""]
        let (answers, cached) = try await together(.ok(text: "two", headers: headers))
        #expect(answers.map(\.text) == ["two", "two"])
        let status = "Turnpike;fwd=stale;fwd-status=200;stored"
        #expect(answers.map(\.status) == [status, status + ";collapsed"])
        #expect(cached.cache.statistics.renewed == 2)
    }

    @Test(
        "Cookies reach only the caller whose request was answered with them",
        arguments: [200, 304])
    func cookies(status: Int) async throws {
        let headers: HTTPHeaders = [
            "Cache-Control": "max-age=60", "ETag": "\"1\"", "Set-Cookie": "id=1; Path=/",
        ]
        let (answers, _) = try await together(
            .status(
                HTTPStatus(status), headers: headers,
                body: status == 200 ? Data("two".utf8) : Data()))
        #expect(answers.map { $0.headers[.setCookie] } == ["id=1; Path=/", nil])
    }

    @Test("A 304 that adds a Vary is shared only by requests that match it")
    func variants() async throws {
        let headers: HTTPHeaders = ["ETag": "\"1\"", "Vary": "X-User"]
        let (_, alike) = try await together(
            .status(304, headers: headers), ["X-User": "a"], ["X-User": "a"])
        #expect(alike.sent == 2)
        let (_, different) = try await together(
            .status(304, headers: headers), ["X-User": "a"], ["X-User": "b"])
        #expect(different.sent == 3)
    }

    @Test("A response to a caller that has left is not given to the others")
    func left() async throws {
        let mayGo = SharedValue<Void>()
        let cached = CachedClient { request in
            guard request.headers.contains(.ifNoneMatch) else {
                return .ok(text: "one", headers: Self.fresh)
            }
            if request.headers["X-User"] == "a" { try await mayGo.value() }
            return .ok(
                text: request.headers["X-User"] ?? "", headers: ["Cache-Control": "no-store"])
        }
        _ = try await cached.get("/a")
        cached.clock.advance(by: .seconds(61))
        let first = Task { try await cached.get("/a", ["X-User": "a"]) }
        try await until("a waiting caller") { cached.cache.waiting >= 1 }
        let second = Task { try await cached.get("/a", ["X-User": "b"]) }
        try await until("2 waiting callers") { cached.cache.waiting >= 2 }
        first.cancel()
        await #expect(throws: CancellationError.self) { _ = try await first.value }
        mayGo.settle(.success(()))
        #expect(try await second.value.text == "b")
    }

    @Test(
        "A response that may not be stored is for its caller alone, unless it is a server error",
        arguments: [(403, 3), (302, 3), (404, 2), (503, 2)], [false, true])
    func refusals(of: (status: Int, sent: Int), isValidated: Bool) async throws {
        let (calls, cached) = try await started(
            .status(HTTPStatus(of.status)), [:], [:], inside: isValidated ? [Validate()] : [])
        for call in calls {
            switch await call.result {
            case .success(let answer): #expect(answer.code == of.status && !isValidated)
            case .failure(let error as ClientError):
                #expect(error.code == .validation && isValidated)
            case .failure(let error): throw error
            }
        }
        #expect(cached.sent == of.sent)
    }

    @Test("A call with its own options neither waits for others nor lets others wait")
    func options() async throws {
        let mayGo = SharedValue<Void>()
        let cached = CachedClient(inside: [Validate()]) { request in
            guard request.headers.contains(.ifNoneMatch) else {
                return .ok(text: "one", headers: Self.fresh)
            }
            try await mayGo.value()
            return .status(404, body: Data("none".utf8))
        }
        _ = try await cached.get("/a")
        cached.clock.advance(by: .seconds(61))
        let first = Task { try await cached.get("/a") }
        try await until("a waiting caller") { cached.cache.waiting >= 1 }
        let second = Task {
            try await cached.client.get("http://a.example/a")
                .validate(status: .range(100..<600)).response()
        }
        try await until("a third request, or a second waiting caller") {
            cached.sent >= 3 || cached.cache.waiting >= 2
        }
        mayGo.settle(.success(()))
        await expectError(.validation) { _ = try await first.value }
        #expect(try await second.value.status == .notFound)
    }
}
