// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TestSupport
import Testing
import TurnpikeAuthentication
import TurnpikeCore
import TurnpikeMiddleware
import TurnpikeTesting
import TurnpikeTraffic

@Suite("What code keeps when it replaces a stack")
struct ReloadableStateTests {
    private let clock = ManualClock()

    private func client(_ stack: Stack, _ status: HTTPStatus = 200) -> Client {
        Client(
            transport: MockTransport { _ in .status(status) }, stack: stack,
            serializers: SerializerTable(), timeSource: clock)
    }

    @Test("A breaker that takes other rules keeps its open circuit")
    func breaker() async throws {
        let breaker = CircuitBreaker(minimum: 1, open: .seconds(15))
        let client = client([breaker], 503)
        _ = try await client.get(anywhere).response()
        breaker.update(to: CircuitBreaker(minimum: 1, open: .seconds(60)))
        client.replace(stack: [.deadline(), breaker])
        #expect(await code(of: client.get(anywhere)) == .circuitOpen)
        clock.advance(by: .seconds(15))
        #expect(await code(of: client.get(anywhere)) == nil, "a probe")
        clock.advance(by: .seconds(60))
        #expect(await code(of: client.get(anywhere)) == .circuitOpen, "twice the new time")
    }

    @Test("Two credentials with one origin of their own go to no other")
    func ownOrigin() async throws {
        let own = CredentialOrigins.sharedOwn()
        let client = client([.basic(user: "u", password: "p", origins: own)])
        _ = try await client.get("http://a.example/").response()
        client.replace(stack: [.basic(user: "u", password: "q", origins: own)])
        _ = try await client.get("http://b.example/").response()
        let transport = try #require(client.transport as? MockTransport)
        #expect(
            transport.sent.map { $0.request.headers.contains(.authorization) } == [true, false])
    }

    @Test("Budgets on the same accounts count the same retries")
    func accounts() async throws {
        let accounts = RetryBudget.Accounts()
        func retry(_ ratio: Double) -> Retry {
            Retry(
                attempts: 2, backoff: .constant(.zero),
                budget: RetryBudget(accounts, ratio: ratio, floorPerSecond: 0.1))
        }
        let client = client([retry(0)], 503)
        #expect(try await client.get(anywhere).response().attempts == 2, "the floor is one")
        client.replace(stack: [retry(0)])
        #expect(try await client.get(anywhere).response().attempts == 1, "it is spent")
        client.replace(stack: [retry(1)])
        #expect(try await client.get(anywhere).response().attempts == 2)
    }

    @Test("What gates share ends after them, and with its replacement")
    func onShutdown() async {
        let ended = Ended()
        let client = client([Ending(ended: ended)])
        client.replace(stack: client.stack) { ended.add("old") }
        client.replace(stack: client.stack) { ended.add("shared") }
        client.replace(stack: client.stack)
        await client.shutdown()
        #expect(ended.all == ["gate", "shared"])
    }

    @Test("A stack says what is wrong with it over a transport")
    func fault() {
        let gate = Elsewhere()
        #expect(
            Stack([gate]).fault(over: MockTransport(capabilities: [], []))?.code == .unsupported)
        let able = MockTransport(capabilities: .connectTargets, [])
        #expect(Stack([gate]).fault(over: able) == nil)
    }
}

private final class Ended: Sendable {
    private let names = Mutex<[String]>([])

    var all: [String] { names.withLock { $0 } }

    func add(_ name: String) { names.withLock { $0.append(name) } }
}

/// Needs connections that go elsewhere.
private struct Elsewhere: SynchronousRequestAdapter {
    var requiredCapabilities: TransportCapabilities { .connectTargets }

    func adapt(_ request: inout Request, context: Context) {}
}

private struct Ending: SynchronousRequestAdapter {
    let ended: Ended

    func adapt(_ request: inout Request, context: Context) {}

    func shutdown() async { ended.add("gate") }
}
