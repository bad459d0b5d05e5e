// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCache
@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Changes by a validation")
struct ValidationTests {
    struct Case: CustomTestStringConvertible {
        let stored: HTTPHeaders
        let answer: HTTPHeaders
        let isSame: Bool

        var testDescription: String {
            "\(answer.map { "\($0.name): \($0.value)" }) of \(stored.map { "\($0.name): \($0.value)" })"
        }
    }

    private static let first = "Thu, 01 Jan 2015 00:00:00 GMT"
    private static let second = "Fri, 02 Jan 2015 00:00:00 GMT"

    @Test(
        "A HEAD updates the stored response if it is about the same one; otherwise that is stale",
        arguments: [
            Case(stored: ["ETag": "\"1\""], answer: ["ETag": "\"1\""], isSame: true),
            Case(stored: ["ETag": "\"1\""], answer: ["ETag": "\"2\""], isSame: false),
            Case(stored: [:], answer: ["ETag": "\"2\""], isSame: false),
            Case(stored: [:], answer: ["Last-Modified": second], isSame: false),
            Case(
                stored: ["Last-Modified": first], answer: ["Last-Modified": second], isSame: false),
            Case(stored: [:], answer: ["Content-Length": "4"], isSame: false),
            Case(stored: [:], answer: ["Content-Length": "3"], isSame: true),
        ])
    func head(_ example: Case) async throws {
        let cached = CachedClient { request in
            if request.method == .head {
                var headers = example.answer
                headers[.cacheControl] = "max-age=60"
                return .status(200, headers: headers)
            }
            var headers = example.stored
            headers[.cacheControl] = "max-age=60"
            return .status(200, headers: headers, body: Data("one".utf8))
        }
        _ = try await cached.get("/a")
        cached.clock.advance(by: .seconds(61))
        _ = try await cached.send(.head, "/a")
        let answer = try await cached.get("/a")
        #expect((answer.status?.contains(";hit") ?? false) == example.isSame)
    }

    @Test(
        "A 304 about another state of the resource is not believed",
        arguments: [
            Case(
                stored: ["Last-Modified": first], answer: ["Last-Modified": first], isSame: true),
            Case(
                stored: ["Last-Modified": first], answer: ["Last-Modified": second], isSame: false),
            Case(stored: ["Last-Modified": first], answer: [:], isSame: true),
            Case(
                stored: ["Last-Modified": first, "ETag": "\"1\""],
                answer: ["Last-Modified": second, "ETag": "\"1\""], isSame: true),
        ])
    func notModified(_ example: Case) async throws {
        let counter = Tally()
        let cached = CachedClient { request in
            if request.headers.contains(.ifModifiedSince) {
                return .status(304, headers: example.answer)
            }
            var headers = example.stored
            headers[.cacheControl] = "max-age=60"
            return .status(200, headers: headers, body: Data("\(counter.add())".utf8))
        }
        _ = try await cached.get("/a")
        cached.clock.advance(by: .seconds(61))
        #expect(try await cached.get("/a").text == (example.isSame ? "1" : "2"))
    }

    @Test("A 304 does not add fields that may not be reused without validation")
    func noCacheFields() async throws {
        let cached = CachedClient { request in
            if request.headers.contains(.ifNoneMatch) {
                return .status(304, headers: ["ETag": "\"1\"", "X-A": "2"])
            }
            return .ok(
                text: "one",
                headers: [
                    "ETag": "\"1\"", "X-A": "1", "Cache-Control": "max-age=60, no-cache=\"X-A\"",
                ])
        }
        _ = try await cached.get("/a")
        cached.clock.advance(by: .seconds(61))
        _ = try await cached.get("/a")
        let answer = try await cached.get("/a")
        #expect(answer.status == "Turnpike;hit;ttl=60" && answer.headers["X-A"] == nil)
    }

    @Test("must-understand means in a 304 what it means in a response")
    func mustUnderstand() async throws {
        let headers: HTTPHeaders = [
            "ETag": "\"1\"", "Cache-Control": "no-store, must-understand, max-age=60",
        ]
        let cached = CachedClient { request in
            request.headers.contains(.ifNoneMatch)
                ? .status(304, headers: headers) : .ok(text: "one", headers: headers)
        }
        _ = try await cached.get("/a")
        cached.clock.advance(by: .seconds(61))
        _ = try await cached.get("/a")
        #expect(try await cached.get("/a").status == "Turnpike;hit;ttl=60")
    }

    @Test(
        "A response that the origin forbids to store, or that is gone, is not served stale again",
        arguments: [[:], ["Range": "bytes=0-1"], ["If-None-Match": "\"0\""]] as [HTTPHeaders],
        [false, true])
    func obsolete(asked: HTTPHeaders, isValidated: Bool) async throws {
        for (status, control) in [(200, "no-store"), (404, ""), (410, "")] {
            let counter = Tally()
            let cached = CachedClient(inside: isValidated ? [Validate()] : []) { _ in
                counter.add() == 1
                    ? .ok(
                        text: "old",
                        headers: [
                            "Cache-Control": "max-age=60, stale-while-revalidate=3600",
                            "ETag": "\"1\"",
                        ])
                    : .status(
                        HTTPStatus(status), headers: ["Cache-Control": control],
                        body: Data("new".utf8))
            }
            _ = try await cached.get("/a")
            cached.clock.advance(by: .seconds(61))
            var asked = asked
            asked[.cacheControl] = "max-age=0"
            _ = try? await cached.get("/a", asked)
            #expect((try? await cached.get("/a").text) != "old", "\(status)")
        }
    }

    @Test("A response that has become too large or unstorable removes the old entry")
    func unstored() async throws {
        var options = Cache.Options()
        options.maxContentBytes = 10
        for store in [MemoryStore(), FailingStore()] as [any CacheStore] {
            let counter = Tally()
            let cached = CachedClient(store, options: options) { _ in
                let number = counter.add()
                let chunk = Data(String(repeating: "\(number)", count: number == 2 ? 6 : 1).utf8)
                return .stream([chunk, chunk], headers: ["Cache-Control": "max-age=60"])
            }
            #expect(try await cached.get("/a").text == "11")
            (store as? FailingStore)?.fail()
            _ = try await cached.get("/a", [.cacheControl: "no-cache"])
            #expect(try await cached.get("/a").text == "33")
        }
    }

    @Test(
        "An error that a stale response replaces is not stored over it",
        arguments: ["stale-if-error=600", "stale-while-revalidate=600, stale-if-error=600"],
        [500, 503])
    func storedError(control: String, status: Int) async throws {
        let counter = Tally()
        let cached = CachedClient { _ in
            counter.add() == 1
                ? .ok(text: "good", headers: ["Cache-Control": "max-age=60, " + control])
                : .status(
                    HTTPStatus(status), headers: ["Cache-Control": "max-age=60"],
                    body: Data("bad".utf8))
        }
        _ = try await cached.get("/a")
        cached.clock.advance(by: .seconds(61))
        for number in 2..<5 {
            #expect(try await cached.get("/a").text == "good")
            // It may be asked for in the background.
            try await until("\(number) sent requests, and no caller to be waiting") {
                cached.sent >= number && cached.cache.waiting == 0
            }
            #expect(cached.sent == number)
        }
        await cached.client.shutdown(grace: .zero)
    }

    @Test(
        "A request with no-cache does not remove the stale response from other callers",
        arguments: [500, 502, 503, 504], [0, 61])
    func insistence(status: Int, seconds: Int) async throws {
        let counter = Tally()
        let cached = CachedClient { _ in
            counter.add() == 1
                ? .ok(text: "good", headers: ["Cache-Control": "max-age=60, stale-if-error=600"])
                : .status(
                    HTTPStatus(status), headers: ["Cache-Control": "max-age=60"],
                    body: Data("bad".utf8))
        }
        _ = try await cached.get("/a")
        cached.clock.advance(by: .seconds(seconds))
        #expect(try await cached.get("/a", [.cacheControl: "no-cache"]).text == "bad")
        #expect(try await cached.get("/a").text == "good")
    }

    @Test("A later server error does not replace a response that another call has stored")
    func laterFault() async throws {
        let gate = AsyncStream<Void>.makeStream()
        let counter = Tally()
        let cached = CachedClient { _ in
            if counter.add() == 1 {
                for await _ in gate.stream {}
                return .status(
                    503, headers: ["Cache-Control": "max-age=60"], body: Data("bad".utf8))
            }
            return .ok(text: "good", headers: ["Cache-Control": "max-age=60"])
        }
        async let first = cached.get("/a")
        try await until("the first request") { cached.sent >= 1 }
        #expect(try await cached.get("/a").text == "good")
        gate.continuation.finish()
        #expect(try await first.text == "bad")
        #expect(try await cached.get("/a").text == "good")
    }

    @Test(
        "A stored server error does not replace another one, which is stored instead",
        arguments: [502, 503])
    func faultForFault(status: Int) async throws {
        let counter = Tally()
        let cached = CachedClient { _ in
            .status(
                HTTPStatus(status),
                headers: ["Cache-Control": "max-age=60, stale-if-error=600"],
                body: Data("\(counter.add())".utf8))
        }
        #expect(try await cached.get("/a").text == "1")
        #expect(try await cached.get("/a").text == "1")
        cached.clock.advance(by: .seconds(61))
        #expect(try await cached.get("/a").text == "2")
        #expect(try await cached.get("/a").text == "2")
    }

    @Test(
        "A stale response also replaces an error of a HEAD, a range or a condition",
        arguments: ["head", "range", "condition", "several"], [true, false])
    func parts(kind: String, hasAnswer: Bool) async throws {
        let counter = Tally()
        let cached = CachedClient { _ in
            if counter.add() > 1 { return hasAnswer ? .status(503) : .connectionLost }
            return .ok(
                text: "0123",
                headers: ["Cache-Control": "max-age=60, stale-if-error=600", "ETag": "\"1\""])
        }
        _ = try await cached.get("/a")
        cached.clock.advance(by: .seconds(61))
        switch kind {
        case "head":
            #expect(try await cached.send(.head, "/a").code == 200)
        case "range":
            let answer = try await cached.get("/a", [.range: "bytes=1-2"])
            #expect(answer.code == 206 && answer.text == "12")
        case "condition":
            #expect(try await cached.get("/a", [.ifNoneMatch: "\"1\""]).code == 304)
        default:
            // Which the cache does not give.
            let answer = try? await cached.get("/a", [.range: "bytes=0-0,2-2"])
            #expect(answer?.code == (hasAnswer ? 503 : nil))
        }
        let wasGiven = kind == "several" ? 0 : 1
        #expect(cached.cache.statistics.staleHits == wasGiven)
    }

    @Test("A response is counted once, as the outcome that the caller got")
    func counts() async throws {
        let counter = Tally()
        let cached = CachedClient { _ in
            counter.add() == 1
                ? .ok(text: "good", headers: ["Cache-Control": "max-age=60, stale-if-error=600"])
                : .status(503)
        }
        _ = try await cached.get("/a")
        cached.clock.advance(by: .seconds(61))
        _ = try await cached.get("/a")
        let counts = cached.cache.statistics
        #expect(counts.misses == 1 && counts.staleHits == 1 && counts.renewed == 0)
    }
}
