// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Turnpike
import TurnpikeCore
import TurnpikeInspection
import TurnpikeTesting

/// A public number, with what it is given to.
struct NumberRow: Sendable {
    typealias Use = @Sendable (Simulation) async throws -> Void

    let name: String
    /// One for each value; it says which.
    let uses: [(value: String, use: Use)]

    private init<Value: Sendable>(
        _ name: String, _ values: [Value],
        _ use: @escaping @Sendable (Value, Simulation) async throws -> Void
    ) {
        self.name = name
        uses = values.map { value in ("\(value)", { try await use(value, $0) }) }
    }

    static func whole(_ name: String, _ make: @escaping @Sendable (Int) throws -> any Gate) -> Self
    {
        Self(name, ExtremeNumbers.whole) { try await call([try make($0)], $1) }
    }

    static func real(_ name: String, _ make: @escaping @Sendable (Double) throws -> any Gate)
        -> Self
    {
        Self(name, ExtremeNumbers.real) { try await call([try make($0)], $1) }
    }

    static func time(
        _ name: String, _ make: @escaping @Sendable (Duration) throws -> any Gate
    ) -> Self {
        Self(name, ExtremeNumbers.times) { try await call([try make($0)], $1) }
    }

    static func whole(
        _ name: String, use: @escaping @Sendable (Int, Simulation) async throws -> Void
    ) -> Self { Self(name, ExtremeNumbers.whole, use) }

    static func real(
        _ name: String, use: @escaping @Sendable (Double, Simulation) async throws -> Void
    ) -> Self { Self(name, ExtremeNumbers.real, use) }

    static func time(
        _ name: String, use: @escaping @Sendable (Duration, Simulation) async throws -> Void
    ) -> Self { Self(name, ExtremeNumbers.times, use) }

    /// A server that fails, holds back, redirects and answers in turn.
    static func server() -> MockTransport {
        let chunks = [Data("con".utf8), Data("tent".utf8)]
        let turns: [MockResponse] = [
            .status(503, headers: ["Retry-After": "1"]),
            .stream(chunks, headers: ["Cache-Control": "max-age=1"], every: .milliseconds(10)),
            .status(429, headers: ["RateLimit": "\"a\";r=0;t=1", "Retry-After": "2"]),
            .status(302, headers: ["Location": "/y"]),
            .ok(text: "content", headers: ["Cache-Control": "max-age=60", "ETag": "\"1\""]),
            .status(401, headers: ["WWW-Authenticate": "Bearer"]),
            .failure(ClientError(.connection, "reset")),
        ]
        let count = Tally()
        return MockTransport { _ in
            turns[(count.add() - 1) % turns.count].delayed(by: .milliseconds(50))
        }
    }

    /// Explains a stack, judges it and runs some calls, two of them at once.
    static func call(_ gates: [any Gate], _ simulation: Simulation) async throws {
        let stack = Stack(gates)
        let transport = server()
        let request = Request(.get, "http://a.example/x")
        _ = stack.explain(request, on: transport).description
        _ = stack.lint(for: transport)
        let client = Client(
            transport: transport, stack: stack, serializers: SerializerTable(),
            timeSource: simulation.clock, randomSource: simulation.random)
        let body = RequestBody.text(String(repeating: "content", count: 300))
        for _ in 0..<4 {
            async let first = try? client.get("http://a.example/x").deadline(.seconds(100)).data()
            async let second = try? client.request(.put, "http://b.example/x", body: body)
                .deadline(.seconds(100)).data()
            _ = await (first, second)
        }
        await client.shutdown()
    }
}
