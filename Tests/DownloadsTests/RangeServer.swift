// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TurnpikeTesting

@testable import TurnpikeCore

/// A transport that serves one file by ranges, and breaks off as it is told.
final class RangeServer: Sendable {
    struct Setup: Sendable {
        var content = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) })
        var tag: String? = "\"v1\""
        var headers: HTTPHeaders = ["Accept-Ranges": "bytes"]
        /// After how many bytes a response breaks off; nil lets it end.
        var cut: Int?
        /// Whether only the next response breaks off.
        var cutsOnce = false
        /// Changes the answer to a range.
        var change: @Sendable (inout HTTPHeaders, inout Data) -> HTTPStatus = { _, _ in 206 }
        /// Ranges are passed over.
        var ignoresRanges = false
    }

    let setup: Mutex<Setup>
    private let made = Mutex<MockTransport?>(nil)

    init(_ setup: Setup = Setup()) { self.setup = Mutex(setup) }

    /// The transport, the same each time.
    var transport: MockTransport {
        made.withLock { made in
            let transport =
                made
                ?? MockTransport { [weak self] request in
                    self?.answer(request) ?? .connectionRefused
                }
            made = transport
            return transport
        }
    }

    func client(_ stack: Stack = []) -> Client {
        Client(
            transport: transport, stack: stack, serializers: SerializerTable(),
            timeSource: HastyTime())
    }

    func update(_ change: (inout Setup) -> Void) { setup.withLock { change(&$0) } }

    /// The `Range` fields that came.
    var ranges: [String?] { transport.sent.map { $0.request.headers[.range] } }

    private func answer(_ request: Request) -> MockResponse {
        let setup = setup.withLock { setup in
            defer { if setup.cutsOnce { setup.cut = nil } }
            return setup
        }
        var headers = setup.headers
        if let tag = setup.tag { headers[.eTag] = tag }
        let range = request.headers[.range]?.wholeMatch(of: /bytes=(\d+)-/)?.1
        guard !setup.ignoresRanges, let first = range.flatMap({ Int($0) }),
            request.headers[.ifRange] == setup.tag ?? setup.headers[.lastModified]
        else { return reply(200, headers, setup.content, setup.cut) }
        guard first < setup.content.count else {
            headers[.contentRange] = "bytes */\(setup.content.count)"
            return .status(416, headers: headers)
        }
        var rest = setup.content.dropFirst(first)
        headers[.contentRange] =
            "bytes \(first)-\(setup.content.count - 1)/\(setup.content.count)"
        let status = setup.change(&headers, &rest)
        return reply(status, headers, rest, setup.cut)
    }

    private func reply(
        _ status: HTTPStatus, _ headers: HTTPHeaders, _ content: Data, _ cut: Int?
    ) -> MockResponse {
        var headers = headers
        headers[.contentLength] = String(content.count)
        guard let cut, cut < content.count else {
            return .stream(Self.chunks(content), status: status, headers: headers)
        }
        return .stream(
            Self.chunks(content.prefix(cut)), status: status, headers: headers,
            thenThrow: ClientError(.incomplete, "the connection was cut"))
    }

    private static func chunks(_ content: Data) -> [Data] {
        stride(from: content.startIndex, to: content.endIndex, by: 8192)
            .map { content[$0..<min($0 + 8192, content.endIndex)] }
    }
}

/// Time that passes as soon as someone waits for it.
final class HastyTime: TimeSource {
    private let clock = ManualClock()

    var now: MonotonicInstant { clock.now }
    var date: Date { clock.date }

    func schedule(
        after delay: Duration, _ handler: @escaping @Sendable () -> Void
    ) -> any TimerToken {
        let token = clock.schedule(after: delay, handler)
        clock.advance(by: delay)
        return token
    }
}
