// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import TurnpikeReachability
import TurnpikeTesting

@testable import TurnpikeCore

private let connected = NetworkPath(interfaces: ["eth0"])
private let alone = NetworkPath(interfaces: [])

@Suite("Path monitor")
struct PathMonitorTests {
    @Test("The monitor gives the current path, then each change once")
    func changes() async {
        let monitor = PathMonitor(connected)
        var paths = monitor.paths.makeAsyncIterator()
        #expect(await paths.next() == connected)
        monitor.update(connected)
        monitor.update(alone)
        #expect(await paths.next() == alone)
        #expect(!monitor.current.isReachable)
    }

    @Test("A reader that begins during a change gets the new path last")
    func changeAtTheBegin() async {
        var stale = 0
        for _ in 0..<20_000 {
            let monitor = PathMonitor(alone)
            async let change: Void = monitor.update(connected)
            let paths = monitor.paths
            await change
            var reader = paths.makeAsyncIterator()
            if await reader.next() != connected { stale += 1 }
        }
        #expect(stale == 0)
    }

    @Test("The system's monitor is consistent and stops when it is released")
    func system() async throws {
        var monitor: PathMonitor? = .system()
        let path = try #require(monitor?.current)
        var paths = monitor?.paths.makeAsyncIterator()
        #expect(await paths?.next() == path && !path.interfaces.contains("lo"))
        paths = nil
        weak let weakly = monitor
        monitor = nil
        #expect(weakly == nil)
    }
}

/// A gate that tries again as long as there is no response.
private struct Again: Interceptor {
    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
        do { return try await next(request) } catch is ClientError {
            return try await next.attempt(request)
        }
    }
}

@Suite("Wait for connectivity")
struct WaitForConnectivityTests {
    private let clock = ManualClock()
    private let monitor = PathMonitor(alone)

    private func client(_ transport: MockTransport, _ limit: Duration = .seconds(60)) -> Client {
        Client(
            transport: transport, stack: [Again(), .waitForConnectivity(monitor, limit: limit)],
            serializers: SerializerTable(), timeSource: clock)
    }

    private func failingOnce() -> MockTransport {
        let count = Mutex(0)
        return MockTransport { _ in
            count.withLock { count in
                count += 1
                return count == 1 ? .connectionRefused : .ok()
            }
        }
    }

    @Test("The first attempt starts at once, the next when there is a path")
    func waits() async throws {
        let transport = failingOnce()
        async let response = client(transport).get("http://a.example/").response()
        try await clock.waitForTimers(1)
        #expect(transport.sentCount == 1)
        monitor.update(connected)
        #expect(try await response.status == 200)
        #expect(transport.sentCount == 2 && clock.timerCount == 0)
    }

    @Test(
        "After the limit the attempt is made anyway", arguments: ["a.example", "127.example.com"])
    func limit(host: String) async throws {
        let transport = failingOnce()
        async let response = client(transport, .seconds(5)).get("http://\(host)/").response()
        try await clock.waitForTimers(1)
        clock.advance(by: .seconds(5))
        #expect(try await response.status == 200)
    }

    @Test("Loopback needs no path", arguments: ["localhost", "127.0.0.1"])
    func local(host: String) async throws {
        let transport = failingOnce()
        #expect(try await client(transport).get("http://\(host)/").response().status == 200)
    }

    @Test("A cancelled task stops waiting")
    func cancelled() async throws {
        let transport = failingOnce()
        let client = client(transport)
        let task = Task { try await client.get("http://a.example/").response() }
        try await clock.waitForTimers(1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(transport.sentCount == 1)
    }
}
