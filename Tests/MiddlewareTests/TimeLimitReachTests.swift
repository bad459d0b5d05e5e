// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeCache
import TurnpikeSupport
import TurnpikeTesting
import TurnpikeTraffic

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

/// What a limit must end although it looks as if there was nothing left to wait for.
@Suite("The reach of time limits")
struct TimeLimitReachTests {
    private let clock = ManualClock()

    @Test("A limit in a skipped group does not weaken the outer one")
    func passedOver() async throws {
        let began = AsyncStream.makeStream(of: Void.self)
        let release = AsyncStream.makeStream(of: Void.self)
        let deaf = Around { request, _, next in
            began.continuation.yield()
            await Task { for await _ in release.stream {} }.value
            return try await next(request)
        }
        let client = Client(
            MockTransport { _ in .ok() }, clock: clock,
            [
                .deadline(.seconds(1)),
                .when({ $0.method == .post }, then: [.group([.attemptTimeout(.seconds(1))])]), deaf,
            ])
        let call = Task { await code(of: client.get(anywhere)) }
        for await _ in began.stream.prefix(1) {}
        clock.advance(by: .seconds(1))
        #expect(await call.value == .deadlineExceeded)
        release.continuation.finish()
    }

    @Test("A task that is cancelled early sends nothing from the tasks that a gate begins")
    func cancelledOnTheWay() async throws {
        let leaving = Around { request, _, next in
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return try await next(request)
        }
        let stacks: [Stack] = [
            [leaving, .deadline(), Around { try await $2($0) }],
            [leaving, .attemptTimeout(), Around { try await $2($0) }],
            [leaving, .hedge(after: .seconds(1))], [leaving, .coalesce()],
        ]
        for stack in stacks {
            let transport = MockTransport { _ in .ok() }
            let client = Client(transport, clock: clock, stack)
            let call = Task { try await client.get(anywhere).response() }
            await #expect(throws: CancellationError.self) { try await call.value }
            #expect(transport.sentCount == 0)
            #expect(clock.timerCount == 0)
        }
    }

    // A server that says that there is no content, and does not end.
    private struct Unfinished: Transport {
        var capabilities: TransportCapabilities { [] }
        func send(_ request: Request, context: Context) async throws -> Response {
            let exchange = Exchange(context: context) { _ in }
            let head = ResponseHead(status: .ok, url: request.url)
            exchange.receive(Exchange.Head(head, length: 0))
            return try await exchange.response()
        }
        func shutdown() async {}
    }

    @Test(
        "A body without content whose exchange continues is awaited no longer than others",
        arguments: [ClientError.Code.deadlineExceeded, .idleTimeout])
    func unfinished(limit: ClientError.Code) async throws {
        let client = Client(
            Unfinished(), clock: clock,
            limit == .idleTimeout ? [.idleTimeout(.seconds(10))] : [.deadline(.seconds(10))])
        let body = try await client.get(anywhere).response().body
        let canceller = body.canceller
        body.onPull { [clock] in
            clock.advance(by: .seconds(10))
            // For a limit that has not ended it.
            canceller.cancel(.drop)
        }
        let error = await #expect(throws: (any Error).self) { try await body.collect(upTo: 1) }
        #expect((error as? ClientError)?.code == limit)
        #expect(clock.timerCount == 0)
    }

    @Test("A discarded body is not read beyond the limit of its call")
    func thrownAway() async throws {
        // Its reader waits until it is cancelled; no context knows it.
        final class Still: ResponseBodySource {
            let end = OneShot<Data?>()
            func next() async throws -> Data? { try await end.value { self.cancel(.task) } }
            func cancel(_ reason: CancelReason) { end.settle(.failure(reason.error)) }
        }
        let still = Still()
        let client = Client(
            MockTransport { _ in .ok() }, clock: clock,
            [
                .deadline(.milliseconds(50)), .validate(), .attemptTimeout(),
                Around { request, _, _ in
                    Response(to: request, status: 500, body: ResponseBody(source: still))
                },
            ])
        let call = Task { await code(of: client.get(anywhere)) }
        try await clock.waitForTimer(in: .milliseconds(100))
        clock.advance(by: .milliseconds(50))
        #expect(still.end.isSettled)
        clock.advance(by: .milliseconds(50))
        #expect(await call.value == .deadlineExceeded)
    }
}
