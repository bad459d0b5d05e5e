// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCache
@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Refreshes in the background, and selection")
struct RefreshTests {
    private static let fresh: HTTPHeaders = [
        "Cache-Control": "max-age=60, stale-while-revalidate=600"
    ]

    @Test("A refresh continues if the response that began it is dropped")
    func droppedResponse() async throws {
        let (mayGo, counter) = (SharedValue<Void>(), Tally())
        let cached = CachedClient { _ in
            let number = counter.add()
            if number > 1 { try await mayGo.value() }
            return .ok(text: "\(number)", headers: Self.fresh)
        }
        _ = try await cached.get("/a")
        cached.clock.advance(by: .seconds(61))
        let response = try await cached.client.get("http://a.example/a").response()
        try await until("2 sent requests") { cached.sent >= 2 }
        response.body.cancel(.drop)
        #expect(cached.cache.waiting == 1)
        mayGo.settle(.success(()))
        try await until("no caller to be waiting") { cached.cache.waiting == 0 }
        await cached.client.shutdown(grace: .seconds(1))
        #expect(cached.sent == 2)
        #expect(try await cached.cache.list().first?.response.age(at: cached.clock.date) == .zero)
    }

    @Test("A deadline of the call that began a refresh does not end it")
    func deadline() async throws {
        let (mayGo, counter) = (SharedValue<Void>(), Tally())
        let cached = CachedClient(outside: [Deadline(.seconds(5))]) { _ in
            let number = counter.add()
            if number > 1 { try await mayGo.value() }
            return .ok(text: "\(number)", headers: Self.fresh)
        }
        _ = try await cached.get("/a")
        cached.clock.advance(by: .seconds(61))
        // Its body is not read: the call goes on.
        let response = try await cached.client.get("http://a.example/a").response()
        try await until("2 sent requests") { cached.sent >= 2 }
        cached.clock.advance(by: .seconds(6))
        #expect(cached.cache.waiting == 1)
        mayGo.settle(.success(()))
        try await until("no caller to be waiting") { cached.cache.waiting == 0 }
        response.body.cancel(.drop)
        await cached.cache.shutdown()
        #expect(try await cached.get("/a").text == "2")
    }

    @Test("The time limit of a refresh holds for its head and its body together")
    func limit() async throws {
        let (mayGo, counter) = (SharedValue<Void>(), Tally())
        let cached = CachedClient { _ in
            if counter.add() == 1 { return .ok(text: "1", headers: Self.fresh) }
            try await mayGo.value()
            return .stream([Data("2".utf8)], headers: Self.fresh, every: .seconds(1000))
        }
        _ = try await cached.get("/a")
        cached.clock.advance(by: .seconds(61))
        _ = try await cached.get("/a")
        try await until("2 sent requests") { cached.sent >= 2 }
        try await cached.clock.waitForTimer(in: .seconds(30))
        cached.clock.advance(by: .seconds(20))
        mayGo.settle(.success(()))
        try await cached.clock.waitForTimer(in: .seconds(1000))
        cached.clock.advance(by: .seconds(10))
        let hasEnded = Tally()
        let end = Task {
            await cached.cache.shutdown()
            hasEnded.add()
        }
        try await until("the end of the shutdown") { hasEnded.count == 1 }
        cached.clock.advance(by: .seconds(20))
        await end.value
    }

    @Test("only-if-cached does not start a refresh in the background")
    func onlyIfCached() async throws {
        let cached = CachedClient { _ in .ok(text: "1", headers: Self.fresh) }
        _ = try await cached.get("/a")
        cached.clock.advance(by: .seconds(61))
        #expect(try await cached.get("/a", [.cacheControl: "only-if-cached"]).text == "1")
        await cached.cache.shutdown()
        #expect(cached.sent == 1)
    }

    @Test("A request's max-stale is not exceeded", arguments: [(5, 2), (20, 1)])
    func maxStale(seconds: Int, sent: Int) async throws {
        let counter = Tally()
        let cached = CachedClient { _ in .ok(text: "\(counter.add())", headers: Self.fresh) }
        _ = try await cached.get("/a")
        cached.clock.advance(by: .seconds(70))
        let answer = try await cached.get("/a", [.cacheControl: "max-stale=\(seconds)"])
        #expect(answer.text == "\(sent)")
    }

    @Test("Cache-Status distinguishes a URL that is not stored from a variant that is not")
    func varyMiss() async throws {
        let cached = CachedClient { _ in
            .ok(text: "x", headers: ["Cache-Control": "max-age=60", "Vary": "X-Kind"])
        }
        #expect(try await cached.get("/a").status == "Turnpike;fwd=uri-miss;stored")
        let other = try await cached.get("/a", ["X-Kind": "1"])
        #expect(other.status == "Turnpike;fwd=vary-miss;stored")
        #expect(cached.cache.statistics.misses == 2)
    }

    @Test("A slow response does not replace one that was requested later")
    func slowBody() async throws {
        let counter = Tally()
        let cached = CachedClient { request in
            .ok(
                text: "\(counter.add())",
                headers: [
                    "Cache-Control": "max-age=60, stale-while-revalidate=600", "Vary": "X-Kind",
                ])
        }
        let slow = try await cached.client.get("http://a.example/a").response()
        let other = try await cached.client.get("http://a.example/a")
            .header("X-Kind", "1").response()
        #expect(try await cached.get("/a").text == "3")
        for response in [slow, other] { _ = try await response.body.collect(upTo: 10) }
        #expect(try await cached.get("/a").text == "3")
        #expect(try await cached.get("/a", ["X-Kind": "1"]).text == "2")
    }

    @Test("A response that must be validated but has no validator is not stored")
    func useless() async throws {
        let cached = CachedClient { _ in
            .ok(text: "x", headers: ["Cache-Control": "no-cache, max-age=60"])
        }
        #expect(try await cached.get("/a").status == "Turnpike;fwd=uri-miss")
        #expect(try await cached.cache.list().isEmpty)
    }

    @Test("A date allows a range if it is a strong validator", arguments: [(0, 200), (1, 206)])
    func rangeByDate(seconds: Int, code: Int) async throws {
        let date = Date(timeIntervalSince1970: 1_700_000_000)
        let changed = (date - TimeInterval(seconds)).http
        let cached = CachedClient(clock: ManualClock(date: date)) { _ in
            .ok(
                text: "0123",
                headers: [
                    "Cache-Control": "max-age=60", "Last-Modified": changed, "Date": date.http,
                ])
        }
        _ = try await cached.get("/a")
        let answer = try await cached.get("/a", [.range: "bytes=0-1", .ifRange: changed])
        #expect(answer.code == code && cached.sent == 1)
    }
}
