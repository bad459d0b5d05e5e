// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore

/// Checks with responses that arrive during the send of the request content.
extension TransportConformance {
    private static let rounds = 100

    static var interleaved: [Check] {
        [
            interleaved("Live content and its response take turns (if supported)") { road in
                road.server.fallback(.returningChunks)
                let (content, source) = AsyncStream.makeStream(of: Data.self)
                source.yield(Data("x".utf8))
                var count = 0
                for try await chunk in try await road.exchange(content).body {
                    count += chunk.count
                    // The server returns each byte before the client sends the next byte.
                    if count < rounds { source.yield(Data("x".utf8)) } else { source.finish() }
                }
                try require(count == rounds, "\(count) of \(rounds) bytes came back")
            },
            interleaved("A response may begin before its request's live content (if supported)") {
                road in
                road.server.fallback(.asking(times: rounds))
                let (content, source) = AsyncStream.makeStream(of: Data.self)
                var count = 0
                for try await chunk in try await road.exchange(content).body {
                    count += chunk.count
                    source.yield(chunk)
                    // Some libraries report the end of the response after the end of the content.
                    if count == rounds { source.finish() }
                }
                try require(count == rounds, "\(count) of \(rounds) bytes came")
            },
        ]
    }

    private static func interleaved(
        _ name: String, _ body: @escaping @Sendable (Road) async throws -> Void
    ) -> Check {
        check(name) { road in
            if road.transport.capabilities.contains(.liveUpload) { try await body(road) }
        }
    }
}

extension TransportConformance.Road {
    fileprivate func exchange(_ content: AsyncStream<Data>) async throws -> Response {
        try await client.post("/", body: .stream(live: true) { content }).response()
    }
}

extension TestAnswer {
    /// A chunked response that returns each chunk of the request immediately.
    fileprivate static var returningChunks: TestAnswer {
        duringContent { content, peer in
            while let bytes = content.next() { peer.write(bytes) }
        }
    }

    /// A chunked response that sends a byte before each byte of the client.
    fileprivate static func asking(times count: Int) -> TestAnswer {
        duringContent { content, peer in
            var answered = 0
            for asked in 1...count {
                peer.write(Data("1\r\nx\r\n".utf8))
                while answered < asked {
                    guard let bytes = content.next() else { return }
                    answered += bytes.count { $0 == UInt8(ascii: "x") }
                }
            }
            peer.write(ChunkedBytes.end)
            while content.next() != nil {}
        }
    }

    private static func duringContent(
        _ serve: @escaping @Sendable (inout ChunkedBytes, TestPeer) -> Void
    ) -> TestAnswer {
        var answer = TestAnswer { _ in
            [
                .write(head(.ok, ["Transfer-Encoding": "chunked"])),
                .serve { peer, first in
                    var content = ChunkedBytes(peer: peer, unread: first)
                    serve(&content, peer)
                },
            ]
        }
        answer.followsContent = false
        return answer
    }
}

private struct ChunkedBytes {
    static let end = Data("0\r\n\r\n".utf8)

    let peer: TestPeer
    // The bytes that arrived with the head.
    var unread: Data
    private var tail = Data()

    init(peer: TestPeer, unread: Data) {
        self.peer = peer
        self.unread = unread
    }

    mutating func next() -> Data? {
        guard tail != Self.end, let bytes = unread.isEmpty ? peer.read() : unread else {
            return nil
        }
        unread = Data()
        tail = (tail + bytes).suffix(Self.end.count)
        return bytes
    }
}
