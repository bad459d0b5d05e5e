// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("Running calls")
struct OpenCallsTests {
    private let clock = ManualClock()

    @Test("A client lists the calls under way, without their secrets")
    func list() async throws {
        let client = Client(MockTransport { _ in .ok().delayed(by: .seconds(60)) }, clock: clock)
        #expect(client.runningCalls.isEmpty)
        let first = client.get(
            "http://u:s3cret@a.example/one?token=s3cret", headers: ["Authorization": "s3cret"]
        ).start(Text())
        try await clock.waitForTimers(1)
        clock.advance(by: .seconds(7))
        let second = client.post("http://a.example/two").start(Text())
        try await clock.waitForTimers(2)
        let calls = client.runningCalls
        #expect(calls.map(\.id) == [first.id, second.id])
        #expect(calls.map(\.age) == [.seconds(7), .zero])
        #expect(calls.map(\.request?.method) == [.get, .post])
        #expect(calls[0].request?.url.contains("/one") == true)
        var dumped = ""
        dump(calls, to: &dumped)
        for text in ["\(calls)", dumped] {
            #expect(!text.contains("s3cret") && text.contains("a.example/two"), "\(text)")
        }
        #expect(calls.count == client.runningCallCount)
        first.cancel()
        try await until("all calls but 1 to end") { client.runningCallCount <= 1 }
        #expect(client.runningCalls.map(\.id) == [second.id])
        let third = client.get("http://a.example/three").start(Text())
        #expect(Set(client.runningCalls.map(\.id)) == [second.id, third.id])
        client.cancelAll()
        try await until("all calls to end") { client.runningCallCount == 0 }
        #expect(client.runningCalls.isEmpty)
    }

    @Test("A call is listed as described before it is sent, then as its gates changed it")
    func described() async throws {
        let change = Around { request, context, next in
            try await context.sleep(for: .seconds(1))
            var request = request
            request.url = URL(string: "http://b.example/") ?? request.url
            return try await next(request)
        }
        let client = Client(
            MockTransport { _ in .ok().delayed(by: .seconds(60)) }, clock: clock, change)
        let running = client.get(anywhere).start(Text())
        try await clock.waitForTimer(in: .seconds(1))
        #expect(client.runningCalls.map { $0.request?.url } == ["http://a.example/x"])
        clock.advance(by: .seconds(1))
        try await clock.waitForTimer(in: .seconds(60))
        #expect(client.runningCalls.map { $0.request?.url } == ["http://b.example/"])
        running.cancel()
    }

    @Test("No state leads back to itself")
    func noWayBack() async throws {
        let running = Client(MockTransport { _ in .ok(text: "x") }, clock: clock)
            .get(anywhere).start(Text())
        _ = try await running.value
        #expect(running.state == .finished)
        running.cancel()
        #expect(running.state == .finished)
    }
}
