// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

/// Callers that look for their own answers, and the thread that leaves the sockets to them.
@Suite("CurlTransport with busy polling")
struct CurlPollingTests {
    private let server: TestServer
    private let client: Client

    init() throws {
        let fixture = try CurlFixture { $0.busyPolling = .milliseconds(1) }
        (server, client) = (fixture.server, fixture.client)
        server.route("/plain", .ok(data: Data(count: 1024)))
        server.route("/middle", .bytes(300_000))
        server.route("/sink", .handler { .ok(text: String($0.bodyBytes)) })
        server.route("/held", .silence)
    }

    #if os(Linux)
    private static let hasCores = ProcessInfo.processInfo.activeProcessorCount > 1

    /// How long a transport's thread has been at work, in nanoseconds.
    private func work(of transport: CurlTransport) async throws -> Int {
        let text = try await withTaskExecutorPreference(transport.executor) {
            try String(contentsOfFile: "/proc/thread-self/schedstat", encoding: .utf8)
        }
        return try #require(text.split(separator: " ").first.flatMap { Int($0) })
    }

    /// The work of the thread in each of some rounds of calls, one after another.
    private func works(
        _ polling: Duration, on executor: (any TaskExecutor)? = nil
    ) async throws -> [Int] {
        var configuration = CurlTransport.Configuration()
        configuration.busyPolling = polling
        let transport = try CurlTransport(configuration: configuration)
        let client = Client(baseURL: server.target, transport: transport, stack: [])
        var works: [Int] = []
        for _ in 0..<10 {
            let before = try await work(of: transport)
            try await withTaskExecutorPreference(executor) {
                for _ in 0..<200 {
                    let content = try await client.get("plain").data()
                    #expect(content.count == 1024)
                }
            }
            works.append(try await work(of: transport) - before)
        }
        return works
    }

    @Test(
        "A caller who is alone finds its answer without the thread", .alone,
        .needs("two cores", if: hasCores))
    func withoutThread() async throws {
        var (without, with) = ([0], [0])
        // Other programs may keep a caller from its core for a while, so there are three chances.
        for _ in 0..<3 {
            (without, with) = (try await works(.zero), try await works(.milliseconds(1)))
            // A look may take longer, and an answer may be there before its caller waits.
            if with.min()! < without.max()! / 3 { break }
        }
        #expect(with.min()! < without.max()! / 3, "where callers look \(with) ns, else \(without)")
    }

    @Test("A caller on the thread of another transport leaves its answer to the right one", .alone)
    func onOtherThread() async throws {
        let other = try CurlTransport()
        var (without, with) = ([0], [0])
        for _ in 0..<3 {
            without = try await works(.zero, on: other.executor)
            with = try await works(.milliseconds(1), on: other.executor)
            if with.max()! > without.min()! / 2 { break }
        }
        #expect(with.max()! > without.min()! / 2, "where threads look \(with) ns, else \(without)")
    }
    #endif

    @Test("What a turn runs at once may call another transport")
    func nested() async throws {
        let other = Client(baseURL: server.target, transport: try CurlTransport(), stack: [])
        server.route("/late", .ok(text: "x").delayed(by: .milliseconds(1)))
        try await withTaskExecutorPreference(InlineExecutor()) {
            for _ in 0..<50 {
                // The answer of one is passed on in the turn in which the other begins.
                let text = try await client.get("late").string()
                let content = try await other.get("plain").data()
                #expect(text == "x" && content.count == 1024)
            }
        }
    }

    @Test("What a caller did not find is left to the thread, however it goes on")
    func handsOver() async throws {
        for round in 0..<60 {
            for _ in 0..<5 { _ = try await client.get("plain").data() }
            switch round % 4 {
            case 0:
                let error = await #expect(throws: ClientError.self) {
                    _ = try await client.get("held").deadline(.milliseconds(5)).data()
                }
                #expect(error?.code == .deadlineExceeded)
            case 1: #expect(try await client.get("middle").data().count == 300_000)
            case 2:
                let body = RequestBody.stream { Pieces(Data(count: 200_000)) }
                #expect(try await client.post("sink", body: body).string() == "200000")
            default:
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<8 { group.addTask { try await client.get("plain").data().count } }
                    for try await count in group { #expect(count == 1024) }
                }
            }
        }
    }

    @Test("The head of a response comes before its end, and a reader may take its time")
    func streams() async throws {
        let hold = TestHold()
        server.route(
            "/stream", .chunked([Data("one".utf8), Data("two".utf8)], holding: hold, before: 1))
        for _ in 0..<20 { _ = try await client.get("plain").data() }
        let response = try await client.get("stream").response()
        var chunks = response.body.makeAsyncIterator()
        #expect(try await chunks.next() == Data("one".utf8))
        for _ in 0..<20 { _ = try await client.get("plain").data() }
        hold.open()
        #expect(try await chunks.next() == Data("two".utf8))
        #expect(try await chunks.next() == nil)
    }

    @Test("A connection that its server has closed in the meantime is replaced")
    func closedMeanwhile() async throws {
        server.route("/last", .ok(text: "x", headers: [.connection: "close"]))
        for _ in 0..<50 {
            for _ in 0..<5 { _ = try await client.get("plain").data() }
            #expect(try await client.get("last").string() == "x")
        }
    }

    @Test("A shutdown ends callers that look")
    func shutdown() async throws {
        for _ in 0..<20 {
            let fixture = try CurlFixture { $0.busyPolling = .milliseconds(1) }
            fixture.server.route("/plain", .ok(data: Data(count: 1024)))
            let caller = Task {
                while true { _ = try await fixture.client.get("plain").data() }
            }
            try await fixture.server.waitForRequests(50)
            await fixture.client.shutdown()
            await #expect(throws: (any Error).self) { try await caller.value }
            try await fixture.server.wait { $0.open == 0 }
        }
    }
}

/// Runs jobs where they come from, as executors of tests do.
private final class InlineExecutor: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        unsafe UnownedJob(job).runSynchronously(on: asUnownedTaskExecutor())
    }
}
