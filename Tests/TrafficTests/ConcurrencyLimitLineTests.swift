// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeStackFiles
import TurnpikeTesting
import TurnpikeTrafficStackFiles

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeTraffic

@Suite("The line of a ConcurrencyLimit")
struct ConcurrencyLimitLineTests {
    private let clock = ManualClock()
    private let sink = MemoryLogSink()

    private func client(_ limit: ConcurrencyLimit) -> Client {
        Client(MockTransport { _ in .ok(text: "x") }, clock: clock, [.log(to: sink), limit])
    }

    private var news: [String] { sink.lines.filter { $0.contains("wait in line") } }

    /// Lets calls wait one after another, and lets them go.
    private func line(
        _ client: Client, _ limit: ConcurrencyLimit, _ targets: [Target] = [anywhere]
    ) async throws {
        let first = try await client.get(targets[0]).response()
        var calls: [Task<ClientError.Code?, Never>] = []
        for (index, target) in targets.enumerated() {
            calls.append(Task { await code(of: client.get(target)) })
            try await until("\(index + 1) waiting callers") { limit.waiting > index }
        }
        first.body.cancel(.drop)
        for call in calls { #expect(await call.value == nil) }
    }

    @Test("By default a thousand calls wait, and the next one is refused")
    func byDefault() async throws {
        let limit = ConcurrencyLimit(perOrigin: 1)
        let client = client(limit)
        let first = try await client.get(anywhere).response()
        let calls = (0..<1000).map { _ in Task { await code(of: client.get(anywhere)) } }
        try await until("1000 waiting callers") { limit.waiting == 1000 }
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).response()
        }
        #expect(error?.code == .overloaded)
        #expect(error?.message.contains("the queue of 1000 is full") == true)
        first.body.cancel(.drop)
        for call in calls { #expect(await call.value == nil) }
        #expect(limit.waiting == 0 && limit.underWay == 0)
        #expect(news.count == 1)
    }

    @Test("A stack file has the same default, and may refuse at once")
    func settings() async throws {
        for (queue, refuses) in [("", false), (", \"queue\": 0", true)] {
            var registry = Registry()
            registry.registerTraffic()
            registry.register(transport: "well") { _ in MockTransport { _ in .ok(text: "x") } }
            let text =
                #"{"transport": {"use": "well"}, "stack": [{"use": "concurrencyLimit", "total": 1"#
                + queue + "}]}"
            let client = try ConfiguredClient(
                StackFile(parsing: Data(text.utf8)), registry: registry,
                serializers: SerializerTable(), timeSource: clock
            ).client
            let limit = try #require(client.stack.gates.first as? ConcurrencyLimit)
            let first = try await client.get(anywhere).response()
            if refuses {
                #expect(await code(of: client.get(anywhere)) == .overloaded)
            } else {
                let call = Task { await code(of: client.get(anywhere)) }
                try await until("a waiting caller") { limit.waiting == 1 }
                first.body.cancel(.drop)
                #expect(await call.value == nil)
            }
        }
    }

    @Test("A line that forms is logged, not each call, and at most once in ten seconds")
    func news() async throws {
        let limit = ConcurrencyLimit(total: 5, perOrigin: 1)
        let client = client(limit)
        try await line(client, limit, Array(repeating: anywhere, count: 4))
        #expect(news.count == 1)
        #expect(
            news.first?.contains(
                "calls to http://a.example wait in line: at most 1 may be under way to it, and 5"
                    + " in all") == true, "\(news)")
        clock.advance(by: .seconds(10) - .nanoseconds(1))
        try await line(client, limit)
        #expect(news.count == 1)
        clock.advance(by: .nanoseconds(1))
        try await line(client, limit)
        #expect(news.count == 2)
        try await line(client, limit, ["http://b.example/"])
        #expect(news.count == 3, "each origin has a line of its own")
    }

    @Test("Lines that form because of the total are logged once for all origins")
    func total() async throws {
        let limit = ConcurrencyLimit(total: 1)
        let client = client(limit)
        try await line(
            client, limit, (0..<20).map { Target("http://h\($0).example/") })
        #expect(news.count == 1)
        clock.advance(by: .seconds(10))
        try await line(client, limit)
        #expect(news.count == 2)
    }

    @Test("A deadline that passes in line says so, but not a deadline that passes later")
    func deadline() async throws {
        let limit = ConcurrencyLimit(total: 1)
        let transport = MockTransport([
            .any(.ok(text: "x"), .status(503), .ok().delayed(by: .seconds(60)))
        ])
        let client = Client(
            transport, clock: clock,
            [.deadline(.seconds(5)), .retry(backoff: .constant(.seconds(1))), limit])
        let first = try await client.get(anywhere).response()
        let waiting = Task { try await client.get(anywhere).response() }
        try await until("a waiting caller") { limit.waiting == 1 }
        // The next timer is its deadline's, set when the call began.
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: ClientError.self) { try await waiting.value }
        #expect(error?.code == .deadlineExceeded)
        #expect(
            error?.message
                == "the call did not finish within its deadline of 5 s; it was waiting in line for"
                + " a permit to call http://a.example")
        let later = Task { try await client.get(anywhere).response() }
        try await until("a waiting caller") { limit.waiting == 1 }
        first.body.cancel(.drop)
        try await clock.waitForTimer(in: .seconds(1))
        clock.advance(by: .seconds(1))
        try await clock.waitForTimer(in: .seconds(60))
        clock.advance(by: .seconds(4))
        let other = await #expect(throws: ClientError.self) { try await later.value }
        #expect(
            other?.message
                == "the call did not finish within its deadline of 5 s; the server had not answered"
        )
    }

    @Test("A deadline that passes while the server is silent blames no branch that waits in line")
    func hedged() async throws {
        let limit = ConcurrencyLimit(perOrigin: 1)
        let client = Client(
            MockTransport { _ in .ok().delayed(by: .seconds(60)) }, clock: clock,
            [.deadline(.seconds(5)), .hedge(after: .seconds(1)), limit])
        let call = Task { try await client.get(anywhere).response() }
        try await clock.waitForTimer(in: .seconds(60))
        try await clock.waitForTimer(in: .seconds(1))
        clock.advance(by: .seconds(1))
        try await until("a waiting branch") { limit.waiting == 1 }
        clock.advance(by: .seconds(4))
        let error = await #expect(throws: ClientError.self) { try await call.value }
        #expect(
            error?.message
                == "the call did not finish within its deadline of 5 s; the server had not answered"
        )
    }
}
