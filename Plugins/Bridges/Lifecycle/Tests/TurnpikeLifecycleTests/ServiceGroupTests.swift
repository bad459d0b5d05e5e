// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import ServiceLifecycle
import Testing
import Turnpike
import TurnpikeLifecycle
import TurnpikeSupport
import TurnpikeTesting

@Suite("ClientService in a ServiceGroup", .timeLimit(.minutes(5)))
struct ServiceGroupTests {
    private let notes = Notes()

    /// A service that makes one more call during the shutdown.
    private struct LastCall: Service {
        let client: Client
        let notes: Notes
        let started: SharedValue<Void>

        func run() async throws {
            started.settle(.success(()))
            try await gracefulShutdown()
            try await client.post("https://example.com/goodbye").empty()
            notes.add("last call")
        }
    }

    private func client(_ name: String) -> Client {
        Client(
            transport: MockTransport { _ in .ok() }, stack: [Closing(gateName: name, notes: notes)])
    }

    @Test(
        "A service after the clients ends first, and can still call; clients end in reverse order")
    func order() async throws {
        let (first, second) = (client("first"), client("second"))
        let started = SharedValue<Void>()
        let group = ServiceGroup(
            services: [
                ClientService(first, grace: .seconds(60)),
                ClientService(second, grace: .seconds(60)),
                LastCall(client: first, notes: notes, started: started),
            ],
            logger: Logger(label: "test"))
        async let run: Void = group.run()
        try await started.value()
        await group.triggerGracefulShutdown()
        try await run
        #expect(notes.all == ["last call", "second", "first"])
        for client in [first, second] {
            await #expect(throws: ClientError.self) {
                try await client.get("https://example.com/").empty()
            }
        }
    }

    @Test("A group that is cancelled closes the clients as well")
    func cancelled() async throws {
        let (first, second) = (client("first"), client("second"))
        let started = SharedValue<Void>()
        let group = ServiceGroup(
            services: [
                ClientService(first, grace: .seconds(60)),
                ClientService(second, grace: .seconds(60)),
                LastCall(client: first, notes: notes, started: started),
            ],
            logger: Logger(label: "test"))
        let run = Task { try await group.run() }
        try await started.value()
        run.cancel()
        // Any result is allowed, because the group decides whether a cancellation is an error.
        _ = await run.result
        #expect(notes.all.sorted() == ["first", "second"])
    }
}
