// SPDX-License-Identifier: Apache-2.0

import Testing
import TurnpikeCore
import TurnpikeStackFiles
import TurnpikeTrafficStackFiles

@testable import TurnpikeMiddleware

@Suite("Meters that a program registers for stack files")
struct RegisteredMeterTests {
    private let store = MetricsStore()

    private var registry: Registry {
        var registry = Registry()
        registry.registerMiddleware()
        registry.registerTraffic()
        registry.registerTransports()
        registry.register(meter: store, as: "service")
        return registry
    }

    private func client(_ gate: JSONValue) throws -> ConfiguredClient {
        let file = try StackFile([
            "transport": ["use": "mock", "responses": [["status": 503]]], "stack": [gate],
        ])
        return try ConfiguredClient(file, registry: registry, serializers: SerializerTable())
    }

    private func message(_ gate: JSONValue) -> String {
        #expect(throws: ClientError.self) { try client(gate) }?.message ?? ""
    }

    @Test("A gate reports to the meter that its file names, with its id")
    func reports() async throws {
        let configured = try client([
            "use": "circuitBreaker", "id": "main", "minimum": 1, "metrics": "meter:service",
        ])
        _ = try? await configured.client.get("http://a.example/").response()
        let open = store.figures.first { $0.key.labels["state"] == "open" }
        #expect(open?.value == 1)
        #expect(open?.key.labels["turnpike.gate.id"] == "main")
    }

    @Test("A name that is not registered is a mistake, with its path and a hint")
    func unknown() {
        let text = message(["use": "circuitBreaker", "metrics": "meter:servise"])
        #expect(text.contains("stack[0].metrics: found \"servise\"; expected "), "\(text)")
        #expect(text.contains("service"))
    }

    @Test("A name that comes from a file is not shown")
    func referenced() throws {
        let text = message([
            "use": "circuitBreaker", "metrics": ["env": "TURNPIKE_TEST_UNSET"],
        ])
        #expect(text.contains("stack[0].metrics"), "\(text)")
    }

    @Test("Passes go to a file, not to a meter")
    func passes() {
        let text = message(["use": "metrics", "to": "meter:service"])
        #expect(text.contains("stack[0].to: found a meter"), "\(text)")
    }
}
