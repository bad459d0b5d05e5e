// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeEndpoints
@testable import TurnpikeMiddleware

@Suite("Lists of endpoints that come and go")
struct EndpointSourceTests {
    private let clock = ManualClock()
    private let servers = EndpointServers()
    private let logger = NoteLogger()
    private let store = MetricsStore()

    private func client(_ resolver: ScriptedResolver, _ gates: any Gate...) -> (Client, Endpoints) {
        let gate = Endpoints(for: "users.internal", from: resolver, meter: store)
        return (Client(servers.transport, clock: clock, Stack([logger] + gates + [gate])), gate)
    }

    private func targets(_ gate: Endpoints) -> [Int] {
        gate.members.compactMap { member in
            var request = Request(.get, service)
            request.options.connectTarget = member.endpoint.target
            return request.endpoint
        }
    }

    // MARK: The first list

    @Test("Calls wait for the first list, for which the resolver is asked once")
    func first() async throws {
        let gate = OneShot<Void>()
        let resolver = ScriptedResolver { _, _ in
            try await gate.value {}
            return EndpointList(Endpoint.first(2))
        }
        let (client, endpoints) = client(resolver)
        let calls = (0..<10).map { _ in Task { try await client.get(service).response() } }
        try await until("the resolver asked") { resolver.count == 1 }
        try await until("all calls begun") { client.runningCallCount == 10 }
        #expect(servers.sent.isEmpty)
        gate.settle(.success(()))
        for call in calls { #expect(try await call.value.status == .ok) }
        #expect(resolver.count == 1)
        #expect(targets(endpoints) == [0, 1])
    }

    @Test("A call that waits for the first list ends at its deadline, and says what it waited for")
    func deadline() async throws {
        let resolver = ScriptedResolver { _, context in
            try await context.sleep(for: .seconds(9))
            return EndpointList(Endpoint.first(2))
        }
        let (client, _) = client(resolver, Deadline(.seconds(3)))
        let call = Task { try await client.get(service).response() }
        try await clock.waitForTimer(in: .seconds(9))
        try await clock.waitForTimer(in: .seconds(3))
        clock.advance(by: .seconds(3))
        let error = await #expect(throws: ClientError.self) { try await call.value }
        #expect(error?.code == .deadlineExceeded)
        #expect(error?.message.contains("for the endpoints of users.internal") == true)
        // The list comes all the same, for later calls.
        clock.advance(by: .seconds(6))
        #expect(try await client.get(service).response().status == .ok)
        #expect(resolver.count == 1)
    }

    @Test("A call that waits for the first list ends at once when it is cancelled")
    func cancelled() async throws {
        let resolver = ScriptedResolver { _, context in
            try await context.sleep(for: .seconds(9))
            return EndpointList(Endpoint.first(2))
        }
        let (client, _) = client(resolver)
        let task = Task { try await client.get(service).response() }
        try await clock.waitForTimer(in: .seconds(9))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        let other = Task { try await client.get(service).response() }
        try await until("the call begun") { client.runningCallCount == 1 }
        client.cancelAll()
        await #expect(throws: CancellationError.self) { try await other.value }
        #expect(servers.sent.isEmpty)
    }

    @Test("A resolver that hangs is given up after 10 s, and asked again after a while")
    func hangs() async throws {
        let resolver = ScriptedResolver { _, context in
            try await OneShot<Void>().value {}
            return EndpointList([])
        }
        let (client, _) = client(resolver)
        for number in 1...4 {
            let call = Task { try await client.get(service).response() }
            try await until("the resolver asked") { resolver.count == number }
            try await clock.waitForTimer(in: .seconds(10))
            clock.advance(by: .seconds(10))
            let error = await #expect(throws: ClientError.self) { try await call.value }
            #expect(error?.code == .dns)
            #expect(error?.transfer?.isUnsent == true)
            #expect(error?.message.contains("took longer than 10 s") == true)
            // Until then, calls fail at once.
            #expect(await code(of: client.get(service)) == .dns)
            #expect(resolver.count == number)
            clock.advance(by: .seconds(60))
        }
        // Four that do not return are enough.
        #expect(await code(of: client.get(service)) == .dns)
        #expect(resolver.count == 4)
    }

    @Test("An empty first list and a resolver's error fail a call at once, with nothing sent")
    func fails() async throws {
        struct Lost: Error {}
        let answers: [(ScriptedResolver.Answer, ClientError.Code, String)] = [
            ({ _, _ in EndpointList([]) }, .configuration, "expected at least one endpoint"),
            ({ _, _ in throw Lost() }, .dns, "Lost"),
            ({ _, _ in throw ClientError(.dns, "no such name") }, .dns, "no such name"),
            ({ _, _ in throw CancellationError() }, .dns, "CancellationError"),
            ({ _, _ in throw ClientError(.cancelled, "x") }, .dns, "x"),
        ]
        for (answer, code, text) in answers {
            let resolver = ScriptedResolver(answer)
            let (client, gate) = client(resolver)
            let error = await #expect(throws: ClientError.self) {
                try await client.get(service).response()
            }
            #expect(error?.code == code)
            #expect(error?.message.contains("no endpoint of users.internal is known") == true)
            #expect(error?.message.contains(text) == true, "\(error?.message ?? "")")
            #expect(error?.transfer?.isUnsent == true)
            let figures = gate.liveFigures(at: clock.now)
            #expect(figures.first == LiveFigure("usable", "0 of 0"))
            #expect(figures.last?.isTrouble == true && figures.last?.value.contains(text) == true)
            // What a ClientError says is said once; another error is kept for whoever looks for it.
            let isTold = error?.underlying != nil
            #expect(isTold == (text == "Lost" || text == "CancellationError"))
            // The next call fails with the same error, and says when the resolver is asked again.
            let next = await #expect(throws: ClientError.self) {
                try await client.get(service).response()
            }
            #expect(next?.code == code)
            #expect(try (0.5...1.0).contains(#require(next?.retryAfter).inSeconds))
            #expect(resolver.count == 1)
            clock.advance(by: .seconds(1))
            resolver.set { _, _ in EndpointList(Endpoint.first(1)) }
            #expect(try await client.get(service).response().status == .ok)
        }
    }

    // MARK: Later lists

    @Test("While the next list is asked for, calls go on with the last one")
    func refresh() async throws {
        let resolver = ScriptedResolver([.at(0)])
        let (client, gate) = client(resolver)
        _ = try await client.get(service).response()
        #expect(gate.liveFigures(at: clock.now) == [LiveFigure("usable", "1 of 1")])
        let list = OneShot<Void>()
        resolver.set { _, _ in
            try await list.value {}
            return EndpointList([.at(1)], freshFor: .seconds(1))
        }
        clock.advance(by: .seconds(1))
        for _ in 0..<3 { _ = try await client.get(service).response() }
        #expect(servers.sent == [0, 0, 0, 0])
        try await until("the resolver asked") { resolver.count == 2 }
        list.settle(.success(()))
        try await until("the new list") { targets(gate) == [1] }
        _ = try await client.get(service).response()
        #expect(servers.sent.last == 1)
        #expect(resolver.count == 2)
    }

    @Test("The state of an endpoint survives a list with another weight, order and company")
    func continues() async throws {
        servers.set([1], .ok().delayed(by: .seconds(100)))
        servers.set([0], .status(503))
        let resolver = ScriptedResolver([.at(0), .at(1)])
        let gate = Endpoints(
            for: "users.internal", from: resolver, policy: .roundRobin,
            health: EndpointHealth(consecutiveFailures: 1, ejection: .seconds(1000)))
        let client = Client(servers.transport, clock: clock, [gate])
        let calls = (0..<2).map { _ in Task { try? await client.get(service).response() } }
        try await servers.waitForSends(2)
        try await until("the ejection") { gate.standing(of: 0) == .ejected }
        var heavy = Endpoint.at(1)
        heavy.weight = 3
        resolver.set { [heavy] _, _ in EndpointList([.at(2), heavy, .at(0)]) }
        clock.advance(by: .seconds(1))
        let call = Task { try? await client.get(service).response() }
        try await until("the new list") { gate.members.count == 3 }
        #expect(gate.members.map(\.endpoint) == [.at(2), heavy, .at(0)])
        #expect(gate.standing(of: 0) == .ejected)
        #expect(gate.members[1].underWay >= 1)
        client.cancelAll()
        for call in calls + [call] { _ = await call.value }
        #expect(gate.underWay == 0)
    }

    @Test("A list that fails to come leaves the last one in use, and log and meter hear of it")
    func fallsBack() async throws {
        let resolver = ScriptedResolver(Endpoint.first(2))
        let (client, gate) = client(resolver)
        _ = try await client.get(service).response()
        resolver.set { number, _ in
            if number % 2 == 0 { throw ClientError(.dns, "the file is gone") }
            return EndpointList([])
        }
        var asked = 1
        for _ in 0..<4 {
            clock.advance(by: .seconds(30))
            _ = try await client.get(service).response()
            asked += 1
            let count = asked
            try await until("the resolver asked") { resolver.count == count }
            try await until("the failure") { failures == count - 1 }
            #expect(targets(gate) == [0, 1])
        }
        // The next call tells its logger.
        _ = try await client.get(service).response()
        let told = logger.all.filter { $0.contains("stays in use") }
        #expect(told.count == 4)
        #expect(told.first?.contains("of 2, stays in use: the file is gone") == true)
        #expect(told.last?.contains("expected at least one") == true)
    }

    private var failures: Int {
        let name = "turnpike_endpoints_refresh_failures_total"
        let line = store.prometheusText.split(separator: "\n").first { $0.hasPrefix(name) }
        return line?.split(separator: " ").last.flatMap { Int($0) } ?? 0
    }

    @Test("The waits after failures grow up to 30 s, and each has its jitter")
    func backoff() throws {
        let start = MonotonicInstant(nanoseconds: 0)
        for jitter in [0, 0.5, 1] {
            var source = SourceState()
            for limit in [1.0, 2, 4, 8, 16, 30, 30] {
                let context = Context(timeSource: clock)
                _ = source.begin(ScriptedResolver([]), in: context, jitter: jitter)
                source.fail(ClientError(.dns, "lost"), at: start)
                source.didReturn()
                let wait = try start.duration(to: #require(source.dueAt)).inSeconds
                #expect(abs(wait - limit * (1 - 0.5 * jitter)) < 1e-6)
            }
            _ = source.begin(ScriptedResolver([]), in: Context(timeSource: clock), jitter: jitter)
            source.succeed(holding: .seconds(10), at: start)
            source.didReturn()
            let wait = try start.duration(to: #require(source.dueAt)).inSeconds
            #expect(abs(wait - 10 * (1 - 0.2 * jitter)) < 1e-6)
            source.succeed(holding: nil, at: start)
            #expect(source.dueAt == nil)
            source.succeed(holding: .seconds(Int64.max), at: start)
            #expect(try #require(source.dueAt) > start.advanced(by: .seconds(1_000_000)))
        }
    }

    // MARK: Ends

    @Test("A shutdown ends the refresh")
    func shutdown() async throws {
        let resolver = ScriptedResolver([.at(0)])
        let (client, _) = client(resolver)
        _ = try await client.get(service).response()
        let ended = OneShot<Void>()
        resolver.set { _, context in
            do { try await context.sleep(for: .seconds(9)) } catch {
                ended.settle(.success(()))
                throw error
            }
            return EndpointList([.at(1)])
        }
        clock.advance(by: .seconds(1))
        _ = try await client.get(service).response()
        try await clock.waitForTimer(in: .seconds(9))
        await client.shutdown(grace: .seconds(1))
        try await ended.value {}
        try await until("no timer") { clock.timerCount == 0 }
    }

    @Test("A refresh ends when nothing holds the client any more")
    func released() async throws {
        let resolver = ScriptedResolver([.at(0)])
        let ended = OneShot<Void>()
        try await { () async throws in
            let (client, _) = client(resolver)
            _ = try await client.get(service).response()
            resolver.set { _, context in
                do { try await context.sleep(for: .seconds(9)) } catch {
                    ended.settle(.success(()))
                    throw error
                }
                return EndpointList([.at(1)])
            }
            clock.advance(by: .seconds(1))
            _ = try await client.get(service).response()
            try await clock.waitForTimer(in: .seconds(9))
        }()
        try await ended.value {}
        try await until("no timer") { clock.timerCount == 0 }
    }

    @Test("Calls of another client go on when the client that began the refresh is shut down")
    func shared() async throws {
        let lists = ScriptedResolver { number, context in
            if number == 1 { try await context.sleep(for: .seconds(9)) }
            return EndpointList([.at(0)])
        }
        let gate = Endpoints(for: "users.internal", from: lists)
        let one = Client(servers.transport, clock: clock, [gate])
        let other = Client(servers.transport, clock: clock, [gate])
        let first = Task { try await one.get(service).response() }
        try await clock.waitForTimer(in: .seconds(9))
        let second = Task { try await other.get(service).response() }
        try await until("both calls") { other.runningCallCount == 1 }
        await one.shutdown()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(try await second.value.status == .ok)
        #expect(lists.count == 2)
    }

    @Test("Of 1,000 endpoints that are replaced 50 times, only the present ones are left alive")
    func noLeak() async throws {
        let resolver = ScriptedResolver { number, _ in
            EndpointList(
                (0..<1000).map { Endpoint("h\(number)-\($0).internal", port: 80) },
                freshFor: .seconds(1))
        }
        let (client, gate) = client(resolver)
        let members = Members()
        for number in 1...50 {
            _ = try await client.get(service).response()
            try await until("list \(number)") {
                gate.members.first?.endpoint.target == .host("h\(number)-0.internal", port: 80)
            }
            members.add(gate.members)
            clock.advance(by: .seconds(1))
        }
        try await until("the former members released") { members.aliveCount == 1000 }
        #expect(gate.underWay == 0)
    }

    private final class Members: Sendable {
        private struct Box: Sendable {
            weak let member: EndpointMember?
        }

        private let boxes = Mutex<[Box]>([])
        var aliveCount: Int { boxes.withLock { $0.count { $0.member != nil } } }

        func add(_ members: [EndpointMember]) {
            boxes.withLock { $0 += members.map { Box(member: $0) } }
        }
    }
}
