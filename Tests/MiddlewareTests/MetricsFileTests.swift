import Foundation
import Testing
import TurnpikeCore
import TurnpikeMiddleware
import TurnpikeTesting

@Suite("Files of metrics")
struct MetricsFileTests {
    private let registry: Registry
    private let path =
        FileManager.default.temporaryDirectory.path + "/turnpike-\(UUID().uuidString).prom"

    init() {
        var registry = Registry()
        registry.registerMiddleware()
        registry.register(transport: "mock") { _ in MockTransport { _ in .ok() } }
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

    @Test("Two clients of a registry add to one file, and the last shutdown has all of it")
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

    @Test("What is no regular file is written into and stays what it is")
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
}
