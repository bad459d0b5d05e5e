// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting
import TurnpikeTraffic

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

/// A deadline around gates that watch, wrap, keep or hold a body which is read after it.
@Suite("Deadlines and bodies that are read late, through each gate")
struct LateBodyTests {
    private let clock = ManualClock()
    private let pieces = DripTransport(
        [Data("ab".utf8), Data("c".utf8)], every: .milliseconds(50))

    struct Quiet: LogSink {
        func write(_ line: String) {}
        func flush() async {}
    }

    enum Watcher: CaseIterable {
        case log, metrics, limits, concurrencyLimit, rateLimit, retry, validate, redirect, hedge
        case idleTimeout, attemptTimeout, circuitBreaker, outerDeadline, cookies

        func gate(_ sink: Quiet) -> any Gate {
            switch self {
            case .log: .log(to: sink, level: .debug, peekBytes: 100)
            case .metrics: .metrics(MetricsStore())
            case .limits: .limits()
            case .concurrencyLimit: .concurrencyLimit()
            case .rateLimit: .rateLimit(perSecond: 100)
            case .retry: .retry()
            case .validate: .validate()
            case .redirect: .redirect()
            case .hedge: .hedge(after: .seconds(1))
            case .idleTimeout: .idleTimeout(.seconds(1))
            case .attemptTimeout: .attemptTimeout(.seconds(1))
            case .circuitBreaker: .circuitBreaker()
            case .outerDeadline: .deadline(.seconds(1))
            case .cookies: .cookies()
            }
        }
    }

    @Test("A body that arrived in time can be read after the deadline", arguments: Watcher.allCases)
    func late(watcher: Watcher) async throws {
        let client = Client(
            pieces, clock: clock, [.deadline(.seconds(2)), watcher.gate(Quiet())])
        let body = try await client.get(anywhere).response().body
        #expect(body.arrival == .underWay)
        clock.advance(by: .milliseconds(200))
        #expect(body.arrival == .complete)
        clock.advance(by: .seconds(4))
        #expect(try await body.collect(upTo: 10) == Data("abc".utf8))
        #expect(clock.timerCount == 0)
    }

    @Test(
        "A body that did not arrive in time ends at its deadline, even unread",
        arguments: Watcher.allCases
    )
    func underWay(watcher: Watcher) async throws {
        let client = Client(
            DripTransport([Data("ab".utf8)], every: .seconds(3)), clock: clock,
            [.deadline(.seconds(2)), watcher.gate(Quiet())])
        let body = try await client.get(anywhere).response().body
        clock.advance(by: .seconds(2))
        #expect(clock.timerCount == 0)
        let error = await #expect(throws: ClientError.self) { try await body.collect(upTo: 10) }
        #expect(error?.code == .deadlineExceeded)
    }

    @Test("A body that broke off in time keeps its own error")
    func broken() async throws {
        let client = Client(
            DripTransport(
                [Data("ab".utf8)], every: .milliseconds(50),
                thenThrow: ClientError(.incomplete, "cut")),
            clock: clock, [.deadline(.seconds(2))])
        let body = try await client.get(anywhere).response().body
        clock.advance(by: .seconds(4))
        let error = await #expect(throws: ClientError.self) { try await body.collect(upTo: 10) }
        #expect(error?.code == .incomplete)
        #expect(clock.timerCount == 0)
    }

    @Test("A deadline runs while a slow reader holds the sender back")
    func heldBack() async throws {
        struct Filled: Transport {
            var capabilities: TransportCapabilities { [] }
            func send(_ request: Request, context: Context) async throws -> Response {
                let exchange = Exchange(
                    context: context, flow: .pausing(highWater: 10, lowWater: 1)
                ) { _ in }
                exchange.receive(
                    Exchange.Head(ResponseHead(status: .ok, url: request.url)))
                // Its end stands behind what the reader must take first.
                #expect(!exchange.receive(Data(count: 10)))
                return try await exchange.response()
            }
            func shutdown() async {}
        }
        let client = Client(Filled(), clock: clock, [.deadline(.seconds(2))])
        let body = try await client.get(anywhere).response().body
        clock.advance(by: .seconds(2))
        let error = await #expect(throws: ClientError.self) { try await body.collect(upTo: 100) }
        #expect(error?.code == .deadlineExceeded)
        #expect(clock.timerCount == 0)
    }

    @Test("The wait for the last chunk is the last one with a time limit")
    func idleUntilLast() async throws {
        let client = Client(pieces, clock: clock, [.idleTimeout(.seconds(10))])
        let body = try await client.get(anywhere).response().body
        // Whoever pulls first waits, and the whole body comes meanwhile.
        body.onPull { [clock] in clock.advance(by: .seconds(9)) }
        #expect(try await body.collect(upTo: 10) == Data("abc".utf8))
        #expect(clock.timerCount == 0)
    }
}
