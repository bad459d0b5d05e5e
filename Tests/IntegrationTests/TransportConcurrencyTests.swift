// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

/// Calls that begin, end and are given up at once; for the thread sanitizer.
@Suite("Transports under concurrent calls")
struct TransportConcurrencyTests {
    @Test(
        "Calls of every kind at once, half of them cancelled at any moment",
        arguments: Road.allCases)
    func storm(road: Road) async throws {
        let server = try TestServer()
        let client = try road.client(to: server)
        server.route("/plain", .ok(data: Data(count: 1024)))
        let large = road == .curl ? 1 << 20 : 1 << 18
        server.route("/large", .bytes(Int64(large)))
        server.route("/sink", .handler { .ok(text: String($0.bodyBytes)) })
        server.route("/held", .silence)
        let (calls, atOnce) = road == .curl ? (1000, 50) : (200, 200)
        let ends = await withTaskGroup(of: Bool.self) { group in
            var ends = 0
            for number in 0..<calls {
                if number >= atOnce, await group.next() == true { ends += 1 }
                group.addTask { await Self.run(number, client, large) }
            }
            return await group.reduce(into: ends) { $0 += $1 ? 1 : 0 }
        }
        #expect(ends >= calls * 2 / 5, "those that nobody cancelled and that do not wait for ever")
        #expect(try await client.get("plain").data().count == 1024)
        await client.shutdown()
        try await server.wait { $0.open == 0 }
    }

    /// Whether a call came to a good end.
    private static func run(_ number: Int, _ client: Client, _ large: Int) async -> Bool {
        let call = Task {
            switch number % 5 {
            case 0, 1: #expect(try await client.get("plain").data().count == 1024)
            case 2: #expect(try await client.get("large").data().count == large)
            case 3:
                let body = RequestBody.stream { Pieces(Data(count: 200_000)) }
                #expect(try await client.post("sink", body: body).string() == "200000")
            default: _ = try await client.get("held").deadline(.milliseconds(5)).data()
            }
        }
        if number % 2 == 0 {
            for _ in 0..<(number % 37) { await Task.yield() }
            call.cancel()
        }
        if case .success = await call.result { return true }
        return false
    }

    @Test("A shutdown in the midst of work ends every call", arguments: Road.allCases)
    func shutdowns(road: Road) async throws {
        let server = try TestServer()
        server.route("/plain", .ok(data: Data(count: 1024)))
        server.route("/held", .silence)
        for wave in 0..<(road == .curl ? 20 : 5) {
            let transport = try road.transport()
            let client = Client(baseURL: server.target, transport: transport, stack: [])
            await withTaskGroup { group in
                for number in 0..<20 {
                    group.addTask {
                        for _ in 0..<(road == .curl ? 5 : 3) {
                            _ = try? await client.get(number % 4 == 0 ? "held" : "plain").data()
                        }
                    }
                }
                for _ in 0..<(wave * (road == .curl ? 20 : 50)) { await Task.yield() }
                // Of the client one, and of a transport under a running client the other.
                if road == .curl { await transport.shutdown() } else { await client.shutdown() }
            }
        }
        try await server.wait { $0.open == 0 }
    }
}
