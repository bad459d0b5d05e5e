// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting
import TurnpikeTrafficStackFiles

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeStackFiles

@Suite("Files of metrics")
struct MetricsFileTests {
    private let registry: Registry
    private let path =
        FileManager.default.temporaryDirectory.path + "/turnpike-\(UUID().uuidString).prom"

    init() {
        var registry = Registry()
        registry.registerMiddleware()
        registry.registerTraffic()
        registry.register(transport: "mock") { _ in MockTransport { _ in .ok(text: "x") } }
        self.registry = registry
    }

    private func file(_ path: String?) throws -> StackFile {
        try StackFile(["stack": path.map { [["use": "metrics", "to": .string($0)]] } ?? []])
    }

    private func configured(_ path: String) throws -> ConfiguredClient {
        try ConfiguredClient(
            file(path), registry: registry, serializers: SerializerTable(),
            timeSource: ManualClock()
        )
    }

    private func written() -> String? { try? String(contentsOfFile: path, encoding: .utf8) }

    /// Waits until all writes that were begun are done: they go one after another.
    private func settle() async throws {
        let other = path + ".other"
        defer { try? FileManager.default.removeItem(atPath: other) }
        await (try configured(other)).client.shutdown()
    }

    @Test("A file that cannot be written is reported with its path when the client is created")
    func unwritable() throws {
        let error = #expect(throws: ClientError.self) { try configured("/nonexistent/x.prom") }
        #expect(error?.code == .configuration)
        #expect(error?.message.hasPrefix("stack[0].to: ") == true, "\(error?.message ?? "")")
        let log = try StackFile(["stack": [["use": "log", "to": "/nonexistent/x.log"]]])
        let other = #expect(throws: ClientError.self) {
            try ConfiguredClient(log, registry: registry, serializers: SerializerTable())
        }
        #expect(other?.message.hasPrefix("stack[0].to: ") == true, "\(other?.message ?? "")")
    }

    @Test("A flush waits no longer than its limit for a blocked file")
    func stuck() async {
        let queue = DispatchQueue(label: "turnpike.tests.stuck")
        let output = MetricsOutput(path: path, queue: queue, flushLimit: .milliseconds(20))
        let opening = OneShot<Void>()
        let open: @Sendable () -> Bool = {
            let isFirst = opening.settle(.success(()))
            if isFirst { queue.resume() }
            return isFirst
        }
        queue.suspend()
        DispatchQueue.global().asyncAfter(deadline: .now() + 10) { _ = open() }
        await output.flush()
        #expect(open(), "it was not the queue that it waited for")
    }

    @Test("Files are not written behind standard error, which may be blocked for ever")
    func queues() {
        let output = MetricsOutput(path: nil)
        #expect(output.queue !== MetricsOutput(path: path).queue)
        #expect(output.queue === MetricsOutput(path: nil).queue)
    }

    @Test("A gate that a reload drops writes what it measured")
    func dropped() async throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let configured = try configured(path)
        _ = try await configured.client.get(anywhere).response()
        #expect(written() == nil)
        try configured.reload(file(nil))
        try await settle()
        #expect(written()?.contains("http_client_request_duration_seconds_count") == true)
    }

    @Test("Two clients of a registry add to one file, which the last shutdown completes")
    func shared() async throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let clients = try [configured(path), configured(path)]
        for (number, configured) in clients.enumerated() {
            _ = try await configured.client.get(Target("http://h\(number).example/")).response()
        }
        await clients[0].client.shutdown()
        await clients[1].client.shutdown()
        let text = try #require(written())
        #expect(text.contains("h0.example") && text.contains("h1.example"))
    }

    @Test("A reload counts running calls once, under the gate's id, or no longer")
    func reloaded() async throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        func limit(_ total: Int, metrics: Bool) throws -> StackFile {
            let place = metrics ? "\"\(path)\"" : "null"
            let text = """
                {"stack": [
                    {"use": "concurrencyLimit", "id": "a", "total": \(total), "metrics": \(place)},
                    {"use": "metrics", "to": "\(path)"}
                ]}
                """
            return try StackFile(parsing: Data(text.utf8))
        }
        let configured = try configured(path)
        try configured.reload(limit(5, metrics: true))
        let held = try await configured.client.get(anywhere).response()
        try configured.reload(limit(6, metrics: true))
        let other = try await configured.client.get(anywhere).response()
        let line = #"turnpike_concurrency_limit_in_flight{turnpike_gate_id="a"}"#
        // Another client's end writes the store of both.
        await (try self.configured(path)).client.shutdown()
        #expect(written()?.contains("\(line) 2\n") == true)
        // A gate that is let go of writes.
        try configured.reload(limit(6, metrics: false))
        try await settle()
        #expect(written()?.contains("\(line) 0\n") == true)
        for response in [held, other] { response.body.cancel(.drop) }
    }

    @Test("Limits that a reload makes constant are removed from the gauges")
    func fixed() async throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        func limit(_ adaptive: JSONValue) throws -> StackFile {
            try StackFile([
                "stack": [
                    ["use": "concurrencyLimit", "adaptive": adaptive, "metrics": .string(path)],
                    ["use": "metrics", "to": .string(path)],
                ]
            ])
        }
        let configured = try configured(path)
        for (adaptive, value) in [(JSONValue.object([:]), 20), (.null, 0)] {
            try configured.reload(limit(adaptive))
            if value > 0 { _ = try await configured.client.get(anywhere).response() }
            await (try self.configured(path)).client.shutdown()
            let name = "turnpike_concurrency_limit_limit"
            let line = #"\#(name){server_address="a.example",server_port="80"} \#(value)"#
            #expect(written()?.contains(line + "\n") == true)
        }
    }

    @Test("A file that is not regular is written to, not replaced")
    func link() async throws {
        let target = path + ".target"
        defer {
            try? FileManager.default.removeItem(atPath: path)
            try? FileManager.default.removeItem(atPath: target)
        }
        try Data("an older text, longer than nothing".utf8).write(to: URL(filePath: target))
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
        let configured = try configured(path)
        _ = try await configured.client.get(anywhere).response()
        await configured.client.shutdown()
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == target)
        #expect(written()?.hasPrefix("# HELP") == true)
    }

    @Test("Figures after a flush are written when the meter is released")
    func afterFlush() async throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let kept = Mutex<(any GateMeter)?>(nil)
        var taking = registry
        taking.register(gate: "taker") { settings in
            kept.withLock { $0 = settings.meter() }
            return SetHeaders([:])
        }
        let file = try StackFile(["stack": [["use": "taker", "metrics": .string(path)]]])
        let configured = try ConfiguredClient(
            file, registry: taking, serializers: SerializerTable(), timeSource: ManualClock())
        func tell(_ name: String) { kept.withLock { $0 }?.add(1, to: name, labels: [:]) }
        tell("first")
        // Another client that has the same meter is shut down.
        await kept.withLock { $0 }?.flush()
        #expect(written()?.contains("first_total 1") == true)
        tell("second")
        kept.withLock { $0 = nil }
        // Behind the other writes of the same queue.
        let last = try ConfiguredClient(
            StackFile(["stack": [["use": "metrics", "to": .string(path + ".other")]]]),
            registry: taking, serializers: SerializerTable(), timeSource: ManualClock())
        defer { try? FileManager.default.removeItem(atPath: path + ".other") }
        await last.client.shutdown()
        #expect(written()?.contains("second_total 1") == true)
        await configured.client.shutdown()
    }
}
