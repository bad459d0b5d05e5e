// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCache
@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Revalidation")
struct RevalidationTests {
    private static let fresh: HTTPHeaders = ["Cache-Control": "max-age=60", "ETag": "\"1\""]

    /// Holds answers to all requests but the first back until it is opened.
    private final class Barrier: Sendable {
        private let gate = SharedValue<Void>()
        private let entered = SharedValue<Void>()

        func pass() async throws {
            entered.settle(.success(()))
            try await gate.value()
        }

        func waitForOne() async throws { try await entered.value() }
        func open() { gate.settle(.success(())) }
    }

    @Test("A hundred callers of one stale entry make one conditional request")
    func coalesced() async throws {
        let barrier = Barrier()
        let cached = CachedClient { request in
            guard request.headers[.ifNoneMatch] == "\"1\"" else {
                return .ok(text: "one", headers: Self.fresh)
            }
            try await barrier.pass()
            return .status(304, headers: ["ETag": "\"1\"", "X-New": "yes"])
        }
        _ = try await cached.get("/a")
        cached.clock.advance(by: .seconds(61))
        let answers = try await together(100, cached, barrier)
        #expect(answers.allSatisfy { $0.text == "one" && $0.headers["X-New"] == "yes" })
        #expect(cached.sent == 2)
        #expect(answers.filter { $0.status?.hasSuffix(";collapsed") ?? false }.count == 99)
        #expect(try await cached.get("/a").status == "Turnpike;hit;ttl=60")
        #expect(cached.cache.statistics.validated == 100)
    }

    @Test(
        "A changed response is shared by all who wait, unless it is private or too large",
        arguments: [("", 2), ("no-store", 101), ("large", 101)])
    func changed(kind: String, sent: Int) async throws {
        let barrier = Barrier()
        var options = Cache.Options()
        options.maxSharedBytes = 1000
        let cached = CachedClient(options: options) { request in
            guard request.headers.contains(.ifNoneMatch) else {
                return .ok(text: "one", headers: Self.fresh)
            }
            try await barrier.pass()
            return .ok(
                text: kind == "large" ? String(repeating: "x", count: 2000) : "two",
                headers: kind == "no-store"
                    ? ["Cache-Control": "no-store"]
                    : [
                        "Cache-Control": "max-age=60", "ETag": "\"2\"",
                    ])
        }
        _ = try await cached.get("/a")
        cached.clock.advance(by: .seconds(61))
        let answers = try await together(100, cached, barrier)
        #expect(answers.allSatisfy { $0.text != "one" })
        #expect(cached.sent == sent)
    }

    @Test("A caller that leaves does not end the exchange; the last one does")
    func leaving() async throws {
        let barrier = Barrier()
        let wasCancelled = SharedValue<Void>()
        let cached = CachedClient { request in
            guard request.headers.contains(.ifNoneMatch) else {
                return .ok(text: "one", headers: Self.fresh)
            }
            do {
                try await barrier.pass()
            } catch {
                wasCancelled.settle(.success(()))
                throw error
            }
            return .status(304, headers: ["ETag": "\"1\""])
        }
        _ = try await cached.get("/a")
        cached.clock.advance(by: .seconds(61))
        let first = Task { try await cached.get("/a") }
        try await barrier.waitForOne()
        let second = Task { try await cached.get("/a") }
        try await until("2 waiting callers") { cached.cache.waiting >= 2 }
        first.cancel()
        await #expect(throws: CancellationError.self) { _ = try await first.value }
        #expect(cached.cache.waiting == 1)
        second.cancel()
        await #expect(throws: CancellationError.self) { _ = try await second.value }
        try await wasCancelled.value()
    }

    @Test(
        "A stale response is served at once and refreshed once; a shutdown waits for the refresh")
    func staleWhileRevalidate() async throws {
        let barrier = Barrier()
        let counter = Tally()
        let store = MemoryStore()
        let cached = CachedClient(store) { _ in
            let number = counter.add()
            if number > 1 { try await barrier.pass() }
            return .ok(
                text: "\(number)",
                headers: ["Cache-Control": "max-age=60, stale-while-revalidate=60"])
        }
        _ = try await cached.get("/a")
        cached.clock.advance(by: .seconds(70))
        for _ in 0..<20 {
            let answer = try await cached.get("/a")
            #expect(answer.text == "1" && answer.status == "Turnpike;hit;ttl=-10")
        }
        try await barrier.waitForOne()
        #expect(cached.sent == 2)
        let end = Task { await cached.client.shutdown(grace: .seconds(10)) }
        try await cached.clock.waitForTimer(in: .seconds(10))
        barrier.open()
        await end.value
        let key = CachedClient.key("http://a.example/a")
        let entry = try #require(try await store.entry(for: key) { _ in true })
        #expect(try await entry.content.body(0..<1).collect(upTo: 9) == Data("2".utf8))
    }

    @Test("A background refresh ends with its time limit or with the client")
    func refreshEnds() async throws {
        let barrier = Barrier()
        let counter = Tally()
        let cached = CachedClient { _ in
            if counter.add() > 1 { try await barrier.pass() }
            return .ok(
                text: "x", headers: ["Cache-Control": "max-age=60, stale-while-revalidate=900"])
        }
        _ = try await cached.get("/a")
        cached.clock.advance(by: .seconds(70))
        _ = try await cached.get("/a")
        try await barrier.waitForOne()
        try await cached.clock.waitForTimer(in: .seconds(30))
        cached.clock.advance(by: .seconds(30))
        try await until("no caller to be waiting") { cached.cache.waiting == 0 }
        _ = try await cached.get("/a")
        try await until("3 sent requests") { cached.sent >= 3 }
        await cached.client.shutdown()
        #expect(cached.cache.waiting == 0)
    }

    @Test(
        "A stale response replaces an error only if that is allowed",
        arguments: [
            ("max-age=60, stale-if-error=60", "503", true),
            ("max-age=60, stale-if-error=60", "500", true), ("max-age=60", "500", false),
            ("max-age=60, stale-if-error=60", "connection", true),
            ("max-age=60, stale-if-error=60", "validated", true),
            ("max-age=60, stale-if-error=5", "503", false),
            ("max-age=60, stale-if-error=60", "404", false),
            ("max-age=60, stale-if-error=60, must-revalidate", "503", false),
            ("max-age=60, must-revalidate", "connection", false),
            ("max-age=60", "503", false), ("max-age=60", "connection", true),
        ])
    func staleIfError(control: String, fault: String, isAllowed: Bool) async throws {
        let counter = Tally()
        let cached = CachedClient(inside: fault == "validated" ? [Validate()] : []) { _ in
            if counter.add() == 1 { return .ok(text: "one", headers: ["Cache-Control": control]) }
            switch fault {
            case "connection": return .connectionLost
            case "404": return .status(404)
            case "500": return .status(500, headers: ["Cache-Control": "max-age=60"])
            default: return .status(503)
            }
        }
        _ = try await cached.get("/a")
        cached.clock.advance(by: .seconds(70))
        let answer = try? await cached.get("/a")
        #expect((answer?.text == "one") == isAllowed)
        if isAllowed { #expect(answer?.status?.hasSuffix("detail=stale-if-error") ?? false) }
    }

    @Test("A 304 that a validator inside refuses still confirms the entry")
    func refusedConfirmation() async throws {
        let cached = CachedClient(inside: [Validate()]) { request in
            request.headers.contains(.ifNoneMatch)
                ? .status(304, headers: ["ETag": "\"1\""]) : .ok(text: "one", headers: Self.fresh)
        }
        _ = try await cached.get("/a")
        cached.clock.advance(by: .seconds(61))
        #expect(try await cached.get("/a").text == "one")
        #expect(try await cached.get("/a").status == "Turnpike;hit;ttl=60")
    }

    @Test("A 304 about another representation confirms nothing")
    func otherTag() async throws {
        let counter = Tally()
        let cached = CachedClient { request in
            counter.add()
            return request.headers.contains(.ifNoneMatch)
                ? .status(304, headers: ["ETag": "\"2\""])
                : .ok(text: "\(counter.count)", headers: Self.fresh)
        }
        _ = try await cached.get("/a")
        cached.clock.advance(by: .seconds(61))
        #expect(try await cached.get("/a").text == "3")
    }

    @Test("A response that was requested before a change is not stored after it")
    func changeMeanwhile() async throws {
        let barrier = Barrier()
        let cached = CachedClient { request in
            if request.method == .post { return .status(200) }
            try await barrier.pass()
            return .ok(text: "old", headers: Self.fresh)
        }
        let reading = Task { try await cached.get("/a") }
        try await barrier.waitForOne()
        _ = try await cached.send(.post, "/a")
        barrier.open()
        #expect(try await reading.value.text == "old")
        #expect(try await cached.cache.list().isEmpty)
    }

    @Test(
        "The response to a POST is not stored after a change that was requested later",
        arguments: [false, true])
    func changeMeanwhile(isPurge: Bool) async throws {
        let barrier = Barrier()
        let cached = CachedClient { request in
            guard request.method == .post else { return .ok(text: "new", headers: Self.fresh) }
            try await barrier.pass()
            var headers = Self.fresh
            headers[.contentLocation] = "/a"
            return .ok(text: "old", headers: headers)
        }
        let posting = Task { try await cached.send(.post, "/a") }
        try await barrier.waitForOne()
        if isPurge {
            _ = try await cached.cache.purge { _ in true }
        } else {
            _ = try await cached.send(.delete, "/a")
        }
        barrier.open()
        #expect(try await posting.value.text == "old")
        #expect(try await cached.get("/a").text == "new")
        // Nothing has come in between now.
        #expect(try await cached.send(.post, "/a").status == "Turnpike;fwd=method;stored")
        #expect(try await cached.get("/a").text == "old")
    }

    private func together(
        _ count: Int, _ cached: CachedClient, _ barrier: Barrier
    ) async throws -> [CachedClient.Answer] {
        try await withThrowingTaskGroup(of: CachedClient.Answer.self) { group in
            for _ in 0..<count { group.addTask { try await cached.get("/a") } }
            try await until("\(count) waiting callers") { cached.cache.waiting >= count }
            barrier.open()
            var answers: [CachedClient.Answer] = []
            for try await answer in group { answers.append(answer) }
            return answers
        }
    }
}
