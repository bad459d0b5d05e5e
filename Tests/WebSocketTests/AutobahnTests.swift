// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeCore

@testable import TurnpikeWebSocket

/// The client's side of Autobahn's fuzzing server, which `scripts/autobahn` starts and whose report it reads.
@Suite("Autobahn's fuzzing server")
struct AutobahnTests {
    private static let port =
        ProcessInfo.processInfo.environment["TURNPIKE_AUTOBAHN"].flatMap { UInt16($0) }

    @Test(
        "Each case is echoed to its end", .needs("scripts/autobahn", if: AutobahnTests.port != nil))
    func cases() async throws {
        let port = try #require(Self.port)
        let client = Client(
            baseURL: Target("http://127.0.0.1:\(port)/"), transport: LoopbackTransport(port: port),
            stack: [], serializers: SerializerTable())
        var counts = try await client.webSocket("getCaseCount").messages.makeAsyncIterator()
        let first = try await counts.next()
        let count = try #require(first.flatMap { Int(String(decoding: $0.content, as: UTF8.self)) })
        for number in 1...max(count, 1) {
            // Many cases end with an error, as they should: the report judges.
            try? await echo(
                client.webSocket(
                    "runCase?case=\(number)&agent=Turnpike",
                    options: WebSocket.Options(compression: .both)))
        }
        let report = try await client.webSocket("updateReports?agent=Turnpike")
        for try await _ in report.messages {}
        #expect(count > 0)
    }

    private func echo(_ socket: WebSocket) async throws {
        do {
            for try await message in socket.messages { try await socket.send(message) }
        } catch {
            try await socket.close()
            throw error
        }
        try await socket.close()
    }
}
