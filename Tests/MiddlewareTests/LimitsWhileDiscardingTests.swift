// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

/// Content that was a few bytes before it was decoded, and has no end.
private final class Bomb: ResponseBodySource {
    static let piece = 8192
    private let state = Mutex((pulls: 0, ends: 0))

    var pulls: Int { state.withLock { $0.pulls } }
    var ends: Int { state.withLock { $0.ends } }

    func next() async throws -> Data? {
        state.withLock { $0.pulls += 1 }
        return Data(count: Self.piece)
    }

    func cancel(_ reason: CancelReason) { state.withLock { $0.ends += 1 } }
}

/// Answers the first request with a bomb, and the next with 200.
private final class BombTransport: Transport {
    let capabilities = TransportCapabilities(rawValue: .max)
    let bomb = Bomb()
    private let status: HTTPStatus
    private let count = Mutex(0)
    private let bodyEnds = Mutex(0)

    init(_ status: HTTPStatus) { self.status = status }

    var sends: Int { count.withLock { $0 } }
    var ends: Int { bodyEnds.withLock { $0 } }

    func send(_ request: Request, context: Context) async throws -> Response {
        let number = count.withLock { count in
            count += 1
            return count
        }
        if number > 1 {
            return Response(head: ResponseHead(status: 200, url: request.url), body: .empty)
        }
        let body = ResponseBody(source: bomb, encodedLength: 100)
        body.onEnd { [self] _ in bodyEnds.withLock { $0 += 1 } }
        return Response(
            head: ResponseHead(
                status: status, headers: ["Location": "/next", "Content-Type": "text/plain"],
                url: request.url), body: body)
    }

    func shutdown() async {}
}

@Suite("Limits while a response is discarded")
struct LimitsWhileDiscardingTests {
    /// One way in which the content of a response is thrown away.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let status: HTTPStatus
        let gate: any Gate
        /// How the call ends after a drain, and after a limit.
        let ends: [ClientError.Code?]
        let sends: [Int]
    }

    static let cases = [
        // Its size before decoding was declared, so it is followed.
        Case(
            testDescription: "a redirect", status: 302, gate: Redirect(), ends: [nil, nil],
            sends: [2, 2]),
        Case(
            testDescription: "a retry", status: 503, gate: Retry(backoff: Backoff(base: .zero)),
            ends: [nil, nil], sends: [2, 2]),
        Case(
            testDescription: "a validator", status: 404, gate: Validate(),
            ends: [.validation, .validation], sends: [1, 1]),
    ]

    @Test("Little is drained, and the body ends once", arguments: cases)
    func drained(_ one: Case) async throws {
        let transport = BombTransport(one.status)
        let client = Client(transport, [one.gate, .limits()])
        #expect(await code(of: client.get(anywhere)) == one.ends[0])
        #expect(transport.sends == one.sends[0])
        #expect(transport.bomb.pulls <= 65_536 / Bomb.piece)
        #expect(transport.bomb.ends == 1)
        #expect(transport.ends == 1)
    }

    @Test("A lower limit applies there too", arguments: cases)
    func limited(_ one: Case) async throws {
        let transport = BombTransport(one.status)
        let client = Client(transport, [one.gate, .limits(Limits.Bounds(body: 20_000))])
        #expect(await code(of: client.get(anywhere)) == one.ends[1])
        #expect(transport.sends == one.sends[1])
        #expect(transport.bomb.pulls <= 3)
        #expect(transport.bomb.ends == 1)
        #expect(transport.ends == 1)
    }

    @Test("Draining is bounded by the ratio, and the body ends once")
    func read() async throws {
        let transport = BombTransport(200)
        #expect(await code(of: Client(transport, [.limits()]).get(anywhere)) == .tooLarge)
        #expect(transport.bomb.pulls == 1_048_576 / Bomb.piece + 1)
        #expect(transport.bomb.ends == 1)
        #expect(transport.ends == 1)
    }

    @Test(
        "An event stream may be highly compressible for as long as it lasts",
        arguments: [true, false])
    func streams(isStreaming: Bool) async throws {
        final class Repetition: ResponseBodySource {
            private let left = Mutex(200)
            var encodedBytes: Int64? { 1000 }
            func cancel(_ reason: CancelReason) {}
            func next() async throws -> Data? {
                left.withLock { left in
                    left -= 1
                    return left < 0 ? nil : Data(count: 8192)
                }
            }
        }
        let transport = Around { request, _, _ in
            Response(
                head: ResponseHead(status: 200, url: request.url),
                body: ResponseBody(source: Repetition()))
        }
        let client = Client(MockTransport { _ in .ok() }, [.limits(), transport])
        var call = client.get(anywhere)
        call.request.options.isStreaming = isStreaming
        #expect(await code(of: call) == (isStreaming ? nil : .tooLarge))
    }

    @Test(
        "Content with more than two codings is refused without being read",
        arguments: ["gzip, gzip, gzip"])
    func codings(field: String) async throws {
        let transport = MockTransport { _ in
            .ok(text: "coded", headers: ["Content-Encoding": field])
        }
        #expect(await code(of: Client(transport, [.limits()]).get(anywhere)) == .tooLarge)
        let more = Limits.Bounds(codings: 3)
        #expect(await code(of: Client(transport, [.limits(more)]).get(anywhere)) == nil)
    }
}
