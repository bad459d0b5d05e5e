// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Turnpike

@testable import TurnpikeCurl

/// What servers do to connections and requests of HTTP/2, whole and in order as it is for them.
@Suite(
    "Servers that end requests and connections over libcurl", .serialized,
    .needs("scripts/test --integration", if: Peers.http2 != nil))
struct HTTP2EndTests {
    typealias HTTP2 = CurlTransport.HTTP2

    /// A server that answers before it has read the request.
    struct Early: CustomTestStringConvertible, Sendable {
        let server, path: String
        let status: Int
        // nil where the text is the server's.
        let size: Int?

        var testDescription: String { server + "/" + path }

        static let all = [
            Early(server: "go", path: "early/200/1000", status: 200, size: 1000),
            Early(server: "go", path: "early/200/0", status: 200, size: 0),
            Early(server: "go", path: "early/413/1000", status: 413, size: 1000),
            Early(server: "go", path: "early/413/0", status: 413, size: 0),
            Early(server: "node", path: "early/200/1000/length", status: 200, size: 1000),
            Early(server: "node", path: "early/413/1000", status: 413, size: 1000),
            Early(server: "apache", path: "large", status: 413, size: nil),
        ]
        // These close a connection of HTTP/1.1 at once, which can cost the answer.
        static let hasty = [
            Early(server: "lighttpd", path: "a", status: 413, size: nil),
            Early(server: "nghttpx", path: "a", status: 413, size: nil),
        ]
    }

    private static func has(_ server: String) -> Bool { Peers.http2?[server] != nil }

    // Whether HTTP/2 loses no answer with the libcurl of this machine, by the plugin's table.
    private static let isSound =
        (try? CurlTransport().offersHTTP2) ?? false

    private func client(
        _ server: String, _ http2: HTTP2 = .automatic, _ gates: Stack = []
    ) throws -> Client {
        let peers = try #require(Peers.http2)
        var configuration = CurlTransport.Configuration()
        configuration.trust.authorities = .file(peers.authority.path())
        configuration.http2 = http2
        return Client(
            baseURL: Target(try #require(peers[server])),
            transport: try CurlTransport(configuration: configuration),
            stack: [.deadline(.seconds(20))] + gates)
    }

    // How often each status, or error, came of calls that are made some at a time.
    private func outcomes(
        _ count: Int, atOnce: Int, size: Int?, _ call: @escaping @Sendable (Int) -> Call
    ) async -> [String: Int] {
        await withTaskGroup(of: String.self) { group in
            var outcomes: [String: Int] = [:]
            for number in 0..<count {
                if number >= atOnce, let outcome = await group.next() {
                    outcomes[outcome, default: 0] += 1
                }
                group.addTask {
                    do {
                        let response = try await call(number).response()
                        let content = try await response.body.collect(upTo: 1 << 20)
                        let isWhole = size.map { $0 == content.count } ?? !content.isEmpty
                        return isWhole ? "\(response.status.code)" : "\(content.count) bytes"
                    } catch {
                        return (error as? ClientError)?.message ?? "\(error)"
                    }
                }
            }
            for await outcome in group { outcomes[outcome, default: 0] += 1 }
            return outcomes
        }
    }

    private static let sizes = [10, 1024, 100_000, 1_000_000]

    @Test(
        "By default an answer that comes before the request is through is not lost",
        arguments: Early.all.filter { has($0.server) }, sizes)
    func early(_ early: Early, size: Int) async throws {
        try await expectAnswers(early, size, .automatic)
    }

    @Test(
        "Nor is it with HTTP/2, where libcurl is sound",
        .needs("a libcurl that is sound with HTTP/2", if: isSound),
        arguments: (Early.all + Early.hasty).filter { has($0.server) }, sizes)
    func earlyHTTP2(_ early: Early, size: Int) async throws {
        // Small ones are taken.
        if early.path == "a", size <= 1024 { return }
        try await expectAnswers(early, size, .on)
    }

    private func expectAnswers(_ early: Early, _ size: Int, _ http2: HTTP2) async throws {
        let client = try client(early.server, http2)
        let body = RequestBody.data(Data(count: size))
        for atOnce in [1, 16] {
            let outcomes = await outcomes(32, atOnce: atOnce, size: early.size) { number in
                client.post(Target(early.path + "?\(atOnce).\(number)"), body: body)
            }
            #expect(outcomes == ["\(early.status)": 32])
        }
    }

    @Test(
        "A server that ends its connections, or refuses streams, loses no call",
        .needs("node and a sound libcurl", if: has("node") && isSound),
        arguments: [
            ("goaway/10", "GET"), ("goaway/10", "POST"), ("close", "GET"), ("refuse/7", "GET"),
        ])
    func goaway(path: String, method: String) async throws {
        let (outcomes, twice) = try await send(300, path, method)
        #expect(outcomes == ["200": 300])
        // What a GET has asked for may be asked for again.
        if method == "POST" { #expect(twice == 0) }
    }

    @Test(
        "A POST whose stream is refused is not doubled, though libcurl may not say so",
        .needs("node", if: has("node")), arguments: ["refuse/7", "close"])
    func refused(path: String) async throws {
        let (outcomes, twice) = try await send(300, path, "POST")
        #expect(twice == 0)
        #expect(outcomes["200", default: 0] > 150)
        // From 8.20 on, libcurl names a refused stream on a reused connection, too.
        if path == "refuse/7", CurlLibrary.foundVersion >= 0x08_1400 {
            #expect(outcomes == ["200": 300])
        }
        #expect(outcomes.values.reduce(0, +) == 300)
    }

    @Test(
        "A body that takes its time to be opened again holds up no other call",
        .needs("node", if: has("node")))
    func reopening() async throws {
        let client = try client("node", .on)
        let opening = AsyncStream.makeStream(of: Void.self)
        let release = DispatchSemaphore(value: 0)
        let opened = Mutex(0)
        let body = RequestBody.stream(replayable: true) {
            let count = opened.withLock { opened in
                opened += 1
                return opened
            }
            if count == 2 {
                opening.continuation.finish()
                // Longer than a call waits for its connection.
                _ = release.wait(timeout: .now() + 30)
            }
            return AsyncStream<Data> { continuation in
                continuation.yield(Data("hello".utf8))
                continuation.finish()
            }
        }
        let call = Task {
            defer { opening.continuation.finish() }
            return try await client.post("refuse/1/read", body: body).data()
        }
        for await _ in opening.stream {}
        #expect(opened.withLock { $0 } == 2)
        #expect(try await client.get("version").string() == "2.0")
        release.signal()
        call.cancel()
        _ = await call.result
    }

    private func send(
        _ count: Int, _ path: String, _ method: String
    ) async throws -> (outcomes: [String: Int], twice: Int?) {
        // A refused stream of a shared connection looks like the end of the connection, and the next
        // stream may be refused as well.
        let client = try client("node", .on, [.retry(attempts: 10, budget: nil)])
        _ = try await client.get("count").data()
        let outcomes = await outcomes(count, atOnce: 16, size: 2) { number in
            let target = Target(path + "?\(number)")
            return method == "GET"
                ? client.get(target) : client.post(target, body: .data(Data(count: 100)))
        }
        let twice = try await client.get("count").json()["twice"]?.int
        return (outcomes, twice)
    }

    @Test(
        "A request that the server wants by HTTP/1.1 is sent so, on a fresh connection and a used one",
        .needs("node", if: has("node")), arguments: ["http1", "http1/read"], [10, 100_000])
    func wantsHTTP1(path: String, size: Int) async throws {
        for isUsed in [false, true] {
            let client = try client("node", .on)
            if isUsed { _ = try await client.get("version").data() }
            let target = Target(path + "?\(isUsed)")
            let response = try await client.post(target, body: .data(Data(count: size))).response()
            #expect(response.head.version == "1.1")
            #expect(try await response.body.collect(upTo: 10) == Data("1.1".utf8))
        }
    }

    @Test(
        "A body that cannot be sent again by HTTP/1.1 is an error that says so",
        .needs("node", if: has("node")))
    func wantsHTTP1Once() async throws {
        let (chunks, writer) = AsyncStream.makeStream(of: Data.self)
        writer.yield(Data(count: 10))
        writer.finish()
        let body = RequestBody.stream { chunks }
        let error = await #expect(throws: ClientError.self) {
            try await client("node", .on).post("http1/read", body: body).data()
        }
        #expect(error?.code == .protocol)
        #expect(error?.message.contains("HTTP/1.1") == true)
        #expect(error?.attempts == 1)
    }

    @Test(
        "A server that speaks HTTP/2 alone is asked by it, unless that is off",
        .needs("node", if: has("h2only")))
    func onlyHTTP2() async throws {
        let client = try client("h2only")
        for _ in 0..<3 {
            let response = try await client.post("version", body: .text("x")).response()
            #expect(response.head.version == "2")
            #expect(try await response.body.collect(upTo: 10) == Data("2.0".utf8))
        }
        let error = await #expect(throws: ClientError.self) {
            try await self.client("h2only", .off).get("version").data()
        }
        #expect(error?.code == .tls)
        #expect(error?.transfer?.phase == .connecting)
    }

    @Test(
        "A cold burst of calls to such a server opens few connections",
        .needs("node", if: has("h2only")))
    func onlyHTTP2Burst() async throws {
        let client = try client("h2only")
        for _ in 0..<2 {
            let connections = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<90 {
                    group.addTask {
                        let response = try await client.get("version").response()
                        _ = try await response.body.collect(upTo: 10)
                        return response.headers["X-Connection"]
                    }
                }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(!connections.contains(nil))
            #expect(connections.count <= 2)
        }
    }

    @Test(
        "A server that speaks both is asked by what libcurl is sound with",
        .needs("node", if: has("node")))
    func version() async throws {
        for (setting, version) in [
            (HTTP2.automatic, Self.isSound ? "2" : "1.1"), (.on, "2"), (.off, "1.1"),
        ] {
            let response = try await client("node", setting).get("version").response()
            #expect(response.head.version == version)
        }
    }
}
