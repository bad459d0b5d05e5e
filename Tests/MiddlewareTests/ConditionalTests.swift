// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

/// Adds its mark to a field, so that a request tells what it passed.
private struct Mark: SynchronousRequestAdapter {
    let mark: String
    var onShutdown: @Sendable () -> Void = {}

    init(_ mark: String) { self.mark = mark }

    init(_ mark: String, onShutdown: @escaping @Sendable () -> Void) {
        self.mark = mark
        self.onShutdown = onShutdown
    }

    func adapt(_ request: inout Request, context: Context) {
        request.headers["X-Marks"] = (request.headers["X-Marks"] ?? "") + mark
    }

    func shutdown() async { onShutdown() }
}

private struct NoRole: Gate {}

@Suite("Conditional composition")
struct ConditionalTests {
    private let transport = MockTransport { _ in .ok() }

    private func marks(_ call: Call) async throws -> String? {
        _ = try await call.response()
        return transport.sent.last?.request.headers["X-Marks"]
    }

    @Test("Gates in a condition apply or are skipped, in the order written")
    func conditions() async throws {
        let client = Client(
            transport,
            Stack {
                Mark("a")
                When(
                    { $0.method == .post },
                    then: [
                        Mark("b"),
                        .when({ $0.url.path() == "/deep" }, then: [Mark("c"), Mark("d")]),
                        Mark("e"),
                    ])
                Mark("f")
            })
        #expect(try await marks(client.get("http://a.example/deep")) == "af")
        #expect(try await marks(client.post("http://a.example/x")) == "abef")
        #expect(try await marks(client.post("http://a.example/deep")) == "abcdef")
    }

    @Test("A list of gates behaves like a builder")
    func list() async throws {
        let client = Client(
            transport,
            [
                .when({ $0.method == .post }, then: [Mark("b")]),
                .group([Mark("c"), Mark("d")], name: "g"),
                .only(for: [Origin(scheme: "http", host: "A.example", port: 80)], [Mark("e")]),
            ])
        #expect(try await marks(client.post("http://a.example/x")) == "bcde")
        #expect(try await marks(client.get("http://a.example:8080/x")) == "cd")
        #expect(
            client.stack.description
                == "1. When\n   1. Mark\n2. g\n   1. Mark\n   2. Mark\n3. Only\n   1. Mark")
    }

    @Test("A condition sees the request as outer gates left it, for each hop and attempt")
    func perHop() async throws {
        let transport = MockTransport { request in
            request.url.path() == "/x"
                ? .status(302, headers: ["Location": "http://b.example/y"]) : .ok()
        }
        let client = Client(
            transport,
            Stack {
                Redirect()
                Only(
                    for: [Origin(scheme: "http", host: "a.example", port: 80)],
                    [.setHeaders(["X-Tenant": "blue"])])
                When(
                    { $0.headers["X-Tenant"] == nil }, then: [.setHeaders(["X-Guest": "yes"])])
            })
        _ = try await client.get(anywhere).response()
        let sent = transport.sent.map(\.request.headers)
        #expect(sent.map { $0["X-Tenant"] } == ["blue", nil])
        #expect(sent.map { $0["X-Guest"] } == [nil, "yes"])
    }

    @Test("A retry in a group also covers the gates after the group")
    func retryInside() async throws {
        let transport = MockTransport([
            .on(.get, "/x", .status(503), .ok()), .on(.post, "/x", .status(503), .ok()),
        ])
        let client = Client(
            transport,
            [
                .when(
                    { $0.method == .get },
                    then: [.retry(attempts: 2, backoff: Backoff(base: .zero))]),
                Mark("m"),
            ])
        #expect(try await client.get(anywhere).response().status == 200)
        #expect(try await client.post(anywhere).response().status == 503)
        #expect(transport.sent.map { $0.request.headers["X-Marks"] } == ["m", "m", "m"])
    }

    @Test("An inner gate without a role is a fault of the client; a shutdown reaches inner gates")
    func lifeCycle() async throws {
        let faulty = Client(transport, [.when({ _ in false }, then: [NoRole()])])
        #expect(faulty.fault?.code == .configuration)
        #expect(await code(of: faulty.get(anywhere)) == .configuration)
        let ended = Mutex(0)
        let counting = Mark("m") { ended.withLock { $0 += 1 } }
        let client = Client(
            transport, [.group([counting, .when({ _ in false }, then: [counting])])])
        await client.shutdown()
        #expect(ended.withLock { $0 } == 2)
    }

    @Test("An option of a call applies even if the group with its gate is skipped")
    func options() async throws {
        let transport = MockTransport { _ in .status(404) }
        let stack: Stack = [.when({ $0.method == .post }, then: [.validate()])]
        let client = Client(transport, stack)
        #expect(await code(of: client.get(anywhere)) == nil)
        #expect(await code(of: client.get(anywhere).validate()) == .validation)
        #expect(await code(of: client.post(anywhere)) == .validation)
        let grouped = Client(transport, [.group([.validate()])])
        #expect(await code(of: grouped.get(anywhere).validate(status: [404])) == nil)
    }
}
