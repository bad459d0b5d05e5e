// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

/// Tasks on the thread of the network.
@Suite("CurlTransport's executor")
struct CurlExecutorTests {
    private let server: TestServer
    private let transport: CurlTransport
    private let client: Client

    init() throws {
        server = try TestServer()
        transport = try CurlTransport()
        client = Client(baseURL: server.target, transport: transport, stack: .standard)
        server.route("/plain", .ok(data: Data(count: 1024)))
        server.route("/large", .bytes(4 << 20))
        server.route("/sink", .handler { .ok(text: String($0.bodyBytes)) })
        server.route("/held", .silence)
    }

    private static var isOnThread: Bool { Thread.current.name == "turnpike.curl" }

    // A gate that notes where it runs.
    private struct Witness: Interceptor {
        let wasElsewhere: @Sendable () -> Void

        func intercept(
            _ request: Request, context: Context, next: Next
        ) async throws -> Response {
            if !isOnThread { wasElsewhere() }
            defer { if !isOnThread { wasElsewhere() } }
            return try await next(request)
        }
    }

    @Test("Tasks, gates and child tasks stay on the thread, and their calls are answered")
    func stays() async throws {
        let elsewhere = Atomic(0)
        let witness = Witness { elsewhere.add(1, ordering: .relaxed) }
        let client = Client(
            baseURL: server.target, transport: transport, stack: .standard + [witness])
        try await withTaskExecutorPreference(transport.executor) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<100 {
                    group.addTask {
                        #expect(Self.isOnThread)
                        switch number % 4 {
                        case 0: #expect(try await client.get("large").data().count == 4 << 20)
                        case 1:
                            let body = RequestBody.stream { Pieces(Data(count: 200_000)) }
                            let count = try await client.post("sink", body: body).string()
                            #expect(count == "200000")
                        default: #expect(try await client.get("plain").data().count == 1024)
                        }
                        #expect(Self.isOnThread)
                    }
                }
                try await group.waitForAll()
            }
            #expect(Self.isOnThread)
        }
        #expect(!Self.isOnThread)
        #expect(elsewhere.load(ordering: .relaxed) == 0)
    }

    @Test("A large body is held back while its reader, on the thread, does other calls")
    func backPressure() async throws {
        try await withTaskExecutorPreference(transport.executor) {
            var count = 0
            for try await chunk in try await client.get("large").response().body {
                count += chunk.count
                _ = try await client.get("plain").data()
            }
            #expect(count == 4 << 20)
        }
    }

    @Test("A task that never waits for anything does not keep the network from its turn")
    func yields() async throws {
        try await withTaskExecutorPreference(transport.executor) {
            try await withThrowingTaskGroup(of: Int?.self) { group in
                group.addTask {
                    while !Task.isCancelled { await Task.yield() }
                    return nil
                }
                group.addTask { try await client.get("plain").data().count }
                let count = try await group.next()
                #expect(count == 1024)
                group.cancelAll()
            }
        }
    }

    @Test("A call that is cancelled, or out of time, ends on the thread as elsewhere")
    func ends() async throws {
        try await withTaskExecutorPreference(transport.executor) {
            let timedOut = await #expect(throws: ClientError.self) {
                _ = try await client.get("held").deadline(.milliseconds(5)).data()
            }
            #expect(timedOut?.code == .deadlineExceeded)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    await #expect(throws: CancellationError.self) {
                        _ = try await client.get("held?cancelled").data()
                    }
                }
                // The first may have been out of time before it was sent, or come late.
                try await until("the request to cancel") {
                    server.requests.contains { $0.query == "cancelled" }
                }
                group.cancelAll()
            }
        }
    }

    @Test("Tasks outlive the transport, on threads of the system")
    func outlives() async throws {
        let executor = transport.executor
        try await withTaskExecutorPreference(executor) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    let error = await #expect(throws: ClientError.self) {
                        _ = try await client.get("held").data()
                    }
                    #expect(error?.code == .cancelled)
                }
                try await server.waitForRequests(1)
                await transport.shutdown()
            }
            for _ in 0..<10 { await Task.yield() }
            #expect(!Self.isOnThread)
        }
        let value = await Task(executorPreference: executor) { 1 }.value
        #expect(value == 1)
    }

    @Test("A transport that is let go of serves the tasks on its thread to their end")
    func letGo() async throws {
        func answer() async throws -> Int {
            let client = Client(baseURL: server.target, transport: try CurlTransport(), stack: [])
            return try await client.get("plain").data().count
        }
        let executor: any TaskExecutor = try {
            let transport = try CurlTransport()
            return transport.executor
        }()
        let count = try await withTaskExecutorPreference(executor) { try await answer() }
        #expect(count == 1024)
    }
}
