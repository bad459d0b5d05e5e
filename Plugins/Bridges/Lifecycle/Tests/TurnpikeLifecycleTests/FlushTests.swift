// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServiceLifecycleTestKit
import Testing
import Turnpike
import TurnpikeCache
import TurnpikeLifecycle
import TurnpikeTesting
import TurnpikeTraffic

@Suite("What ClientService flushes", .timeLimit(.minutes(5)))
struct FlushTests {
    /// Adds a note at each flush.
    private struct Meter: GateMeter {
        let notes: Notes
        func add(_ amount: Double, to name: String, labels: [String: String]) {}
        func change(_ name: String, by amount: Double, labels: [String: String]) {}
        func flush() async { notes.add("meter") }
    }

    @Test("The cache is on disk and meters are flushed before the connections close")
    func flush() async throws {
        let folder = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appending(path: "turnpike-lifecycle-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.path(percentEncoded: false)
        let notes = Notes()
        let transport = MockTransport { _ in
            .ok(text: "x", headers: ["Cache-Control": "max-age=60"])
        }
        let client = Client(
            transport: ClosingTransport(transport, notes),
            stack: [
                .cache(Cache(DiskStore(directory: path), partition: "test")),
                .circuitBreaker(meter: Meter(notes: notes)),
            ])
        #expect(try await client.get("https://example.com/").string() == "x")
        await testGracefulShutdown { trigger in
            trigger.triggerGracefulShutdown()
            await ClientService(client, grace: .seconds(60)).run()
        }
        #expect(notes.all == ["meter", "transport"])
        #expect(try await DiskStore(directory: path).list().count == 1)
    }
}
