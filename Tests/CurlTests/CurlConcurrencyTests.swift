// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

/// Calls that begin, end and are given up at once; for the thread sanitizer.
@Suite("CurlTransport under concurrent calls")
struct CurlConcurrencyTests {
    @Test("A call that begins while a reader of figures has the engine's lock is begun afterwards")
    func beginsUnderLock() async throws {
        let server = try TestServer()
        server.route("/", .status(200, body: Data("hello".utf8)))
        let transport = try CurlTransport()
        let client = Client(baseURL: server.target, transport: transport, stack: [])
        let executor = QueueExecutor()
        let engine = try #require(transport.executor as? CurlEngine)
        while engine.isAwake.load(ordering: .acquiring) { await Task.yield() }
        let call = engine.state.withLock { _ in
            let call = Task(executorPreference: executor) { try await client.get("").string() }
            // The caller has found the lock taken once its job has returned.
            while engine.inbox.withLock({ $0.transfers.isEmpty }) { executor.queue.sync {} }
            executor.queue.sync {}
            return call
        }
        #expect(try await call.value == "hello")
    }

    @Test("A shutdown ends an upload whose content comes by the same transport")
    func forwarding() async {
        // Where it went wrong the process ended, or stood still.
        await #expect(processExitsWith: .success) {
            let server = try TestServer()
            let parts = [Data("some".utf8), Data("rest".utf8)]
            server.route("/from", .chunked(parts, holding: TestHold(), before: 1))
            server.route("/to", .echo)
            let transport = try CurlTransport()
            let client = Client(
                baseURL: server.target, transport: transport, stack: [.deadline(.seconds(30))])
            let source = try await client.get("from").response().body
            let upload = client.post("to", body: .stream(live: true) { source }).start(.data)
            // The rest of the content never comes, so the server counts no request.
            for await progress in upload.progress where progress.bytesSent > 0 { break }
            await transport.shutdown()
            let error = await #expect(throws: ClientError.self) { try await upload.value }
            #expect(error?.code == .cancelled)
        }
    }
}

private final class QueueExecutor: TaskExecutor {
    let queue = DispatchQueue(label: "caller")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
