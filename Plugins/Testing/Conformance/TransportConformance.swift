// SPDX-License-Identifier: Apache-2.0

import Foundation
public import TurnpikeCore

/// The requirements for every transport, checked over real sockets with a ``TestServer``.
///
/// ```swift
/// @Test(arguments: TransportConformance.checks)
/// func conforms(_ check: TransportConformance.Check) async throws {
///     try await check.run(on: MyTransport())
/// }
/// ```
///
/// Each check gets its own transport and shuts it down. The checks use plain HTTP/1.1 on 127.0.0.1;
/// TLS and later HTTP versions must be tested separately. A transport that sends nothing to that
/// address cannot be checked, unless it passes such requests on to another transport.
public enum TransportConformance {
    /// One check of a transport.
    public typealias Check = ConformanceCheck<any Transport>

    /// All checks.
    public static var checks: [Check] { messages + bodies + ends + faults + life + connections }

    /// The environment of a check: a server, and a client with an empty stack over the transport.
    struct Road: Sendable {
        let server: TestServer
        let client: Client
        let transport: any Transport

        func get(_ path: Target) -> Call { client.get(path) }

        func content(of call: Call) async throws -> Data {
            try await call.response().body.collect(upTo: 64 << 20)
        }

        func text(of call: Call) async throws -> String {
            String(decoding: try await content(of: call), as: UTF8.self)
        }
    }

    static func check(
        _ name: String, _ body: @escaping @Sendable (Road) async throws -> Void
    ) -> Check {
        Check(name) { transport in
            let server = try TestServer()
            let client = Client(
                baseURL: server.target, transport: transport, stack: [],
                serializers: SerializerTable())
            do {
                try await body(Road(server: server, client: client, transport: transport))
            } catch {
                server.stop()
                await transport.shutdown()
                throw error
            }
            server.stop()
            await transport.shutdown()
        }
    }
}
