// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

/// That every way of giving a call up closes its connection, in the order that the server sees.
@Suite("The end of a transfer")
struct TransportEndTests {
    private let server: TestServer

    init() throws {
        server = try TestServer()
        server.route("/silence", .silence)
        server.route("/endless", .endless())
        server.route("/ok", .ok(text: "x"))
    }

    private func expectClose(_ client: Client) async throws {
        try await server.wait { $0.abandoned == 1 }
        #expect(try await client.get("ok").string() == "x", "the client goes on")
    }

    @Test("Cancelling a task before it begins opens no connection", arguments: Road.allCases)
    func cancelBeforeBegin(road: Road) async throws {
        let client = try road.client(to: server)
        let call = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return try await client.get("ok").data()
        }
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(server.counts.accepted == 0)
    }

    @Test("A limit on the body", arguments: Road.allCases)
    func limit(road: Road) async throws {
        let client = try road.client(to: server)
        let error = await #expect(throws: ClientError.self) {
            try await client.get("endless").limits(.init(body: 100_000)).data()
        }
        #expect(error?.code == .tooLarge)
        try await expectClose(client)
        let announced = await #expect(throws: ClientError.self) {
            server.route(
                "/announced", .drip(Data(count: 1_000_000), bytes: 1000, every: .milliseconds(2)))
            return try await client.get("announced").limits(.init(body: 100_000)).data()
        }
        #expect(announced?.code == .tooLarge)
        try await server.wait { $0.abandoned == 2 }
    }

    @Test(
        "A deadline, below a second too, before and in the body",
        arguments: Road.allCases, ["silence", "drip", "endless"])
    func deadline(road: Road, path: String) async throws {
        let client = try road.client(to: server)
        server.route("/drip", .drip(Data(count: 1000), every: .milliseconds(30)))
        for limit in [Duration.milliseconds(300), .seconds(3)] {
            let error = await #expect(throws: ClientError.self) {
                let call = client.get(Target(path)).deadline(limit)
                for try await _ in try await call.response().body {}
            }
            #expect(error?.code == .deadlineExceeded)
            // On a busy machine the first may have been over before its request was sent.
            if server.counts.requests > 0 { break }
        }
        try await server.wait { $0.abandoned > 0 && $0.inFlight == 0 }
        #expect(try await client.get("ok").string() == "x", "the client goes on")
    }

    @Test("Cancelling a handle, or letting go of it", arguments: Road.allCases, [true, false])
    func handle(road: Road, cancels: Bool) async throws {
        let client = try road.client(to: server)
        do {
            let running = client.get("silence").start(.data)
            try await server.waitForRequests(1)
            if cancels { running.cancel() }
        }
        try await expectClose(client)
    }

    @Test(
        "Cancelling an upload that the server does not read",
        arguments: Road.allCases, [RequestBody.Kind.data, .stream, .known])
    func upload(road: Road, kind: RequestBody.Kind) async throws {
        let client = try road.client(to: server)
        server.route("/upload", .silence.withoutReading())
        // Fits into the buffers of a socket: behind more, the server would not see the end.
        let body = try RequestBody.of(
            kind, Data(count: 50_000), file: URL(filePath: "/nonexistent"))
        let call = Task {
            try await client.post("upload", body: body, headers: ["Expect": "100-continue"]).data()
        }
        try await server.waitForRequests(1)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        // Content of libcurl that it does not read may hide the close from the server.
        if road == .urlSession { try await server.wait { $0.abandoned == 1 } }
        #expect(try await client.get("ok").string() == "x", "the client goes on")
        #expect(server.counts.accepted == 2)
    }

    @Test("Shutting the client down", arguments: Road.allCases)
    func shutdown(road: Road) async throws {
        let client = try road.client(to: server)
        let call = Task { try await client.get("silence").data() }
        try await server.waitForRequests(1)
        await client.shutdown()
        await #expect(throws: CancellationError.self) { try await call.value }
        try await server.wait { $0.abandoned == 1 }
    }
}
