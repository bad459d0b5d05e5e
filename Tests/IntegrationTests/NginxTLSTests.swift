// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike

@testable import TurnpikeCurl

@Suite(
    "With nginx over TLS", .serialized, .oneAtATime,
    .needs("nginx and scripts/test --integration", if: Peers.shared?.secure != nil))
struct NginxTLSTests {
    private let peers: Peers
    private let base: String

    init() throws {
        peers = try #require(Peers.shared)
        base = try #require(peers.secure)
    }

    private func client(
        _ configure: (inout CurlTransport.Configuration) -> Void = { _ in }
    ) throws -> Client {
        var configuration = CurlTransport.Configuration()
        configuration.trust.authorities = .file(peers.authority.path())
        configuration.http2 = .on
        configure(&configuration)
        return Client(
            baseURL: Target(base), transport: try CurlTransport(configuration: configuration),
            stack: .standard)
    }

    @Test("An authority of one's own is trusted where it is named, and nowhere else")
    func authority() async throws {
        #expect(try await client().get("a.json").json()["name"] == "Ada")
        let stranger = Client(transport: try CurlTransport(), stack: [])
        let error = await #expect(throws: ClientError.self) {
            try await stranger.get(Target(base + "a.json")).data()
        }
        #expect(error?.code == .tls)
    }

    @Test("TLS agrees on HTTP/2 unless it is switched off", arguments: [true, false])
    func version(isOn: Bool) async throws {
        let response = try await client { $0.http2 = isOn ? .on : .off }.get("protocol").response()
        #expect(response.head.version == (isOn ? "2" : "1.1"))
        let said = try await response.body.collect(upTo: 100)
        #expect(String(decoding: said, as: UTF8.self) == (isOn ? "HTTP/2.0" : "HTTP/1.1"))
    }

    @Test("A request's trailer fields go out by HTTP/1.1, beside HTTP/2")
    func requestTrailers() async throws {
        let client = try client()
        let body = RequestBody.text("hello").followed(by: ["X-Sum": "1"])
        for wanted in ["2", "1.1", "2", "1.1"] {
            let call =
                wanted == "2" ? client.get("protocol") : client.post("protocol", body: body)
            let response = try await call.response()
            #expect(response.head.version == wanted)
            _ = try await response.body.collect(upTo: 100)
        }
    }

    @Test("Trailer fields come over either version", arguments: [true, false])
    func trailers(isHTTP2: Bool) async throws {
        let client = try client { $0.http2 = isHTTP2 ? .on : .off }
        for _ in 0..<2 {
            // Compressed, and so without a length: at a length, libcurl stops reading HTTP/2.
            let response = try await client.get("trailers.json", headers: ["TE": "trailers"])
                .response()
            #expect(response.head.version == (isHTTP2 ? "2" : "1.1"))
            #expect(response.headers[.contentLength] == nil)
            #expect(try await response.body.collect(upTo: 1000).count > 500)
            #expect(response.trailers == ["X-Sum": "5d41"])
        }
    }

    @Test("A cold burst of calls opens few connections")
    func multiplexing() async throws {
        let client = try client()
        let connections = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<200 {
                group.addTask {
                    let response = try await client.get("a.json").response()
                    _ = try await response.body.collect(upTo: 10_000)
                    return response.headers["X-Connection"]
                }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(connections.count <= 4)
    }

    @Test("A connection carries no more calls than it may", arguments: [1, 100])
    func streams(limit: Int) async throws {
        let client = try client { $0.maxStreamsPerConnection = limit }
        // Its body is not read, so its stream stays open.
        let large = try await client.get("big.bin").response()
        let small = try await client.get("a.json").response()
        _ = try await small.body.collect(upTo: 10_000)
        let isShared = large.headers["X-Connection"] == small.headers["X-Connection"]
        #expect(isShared == (limit > 1))
        large.body.cancel()
    }

    @Test(
        "Connections that end after 100 requests lose and double no call, reloads among them",
        arguments: [false, true])
    func lastRequests(reloads: Bool) async throws {
        let client = try client()
        let base = try #require(peers.limited)
        let log = peers.folder.appending(path: "once.log")
        try Data().write(to: log)
        let count = 1000
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                if number >= 50 { try await group.next() }
                if reloads, number % 250 == 125 { await peers.nginx("reload") }
                group.addTask {
                    let body = RequestBody.data(Data(count: 100))
                    let answer = try await client.post(Target(base + "once?\(number)"), body: body)
                        .string()
                    #expect(answer == "once")
                }
            }
            try await group.waitForAll()
        }
        // What it has answered is in its log then.
        await peers.nginx("restart")
        let lines = try String(contentsOf: log, encoding: .utf8).split(separator: "\n")
        #expect(lines.count == count)
        #expect(Set(lines) == Set((0..<count).map { "200 \($0)" }))
    }

    @Test("A large body comes whole beside others, with a pause in its middle")
    func flow() async throws {
        let expected = try Data(contentsOf: peers.folder.appending(path: "files/big.bin"))
        let client = try client()
        var content = Data()
        let large = try await client.get("big.bin").response()
        for try await chunk in large.body {
            if content.isEmpty { _ = try await client.get("a.json").json() }
            content.append(chunk)
        }
        #expect(content == expected)
    }

    @Test("A redirection ends the call, though the server takes no more of the request")
    func earlyAnswer() async throws {
        let body = RequestBody.stream(live: true) {
            AsyncStream<Data> { Task.isCancelled ? nil : Data(count: 65_536) }
        }
        let call = try client { _ in }.put("elsewhere", body: body)
        // It cannot be sent to another place, so that it is refused where it is.
        let error = await #expect(throws: ClientError.self) { try await call.data() }
        #expect(error?.response?.status.code == 308)
        #expect(error?.response?.version == "2")
    }

    #if os(Linux)
    // 7.88 left 0.2 MiB of each in memory.
    @Test("Bodies of HTTP/2 that are given up while they are held back leave nothing in memory")
    func givenUp() async throws {
        let report = try await Program("turnpike-endurance").run(
            "--requests", "1000", "--server", try #require(peers.secure), "--authority",
            peers.authority.path(), within: .seconds(120))
        #expect((report["liveMiB"]?.array?.last?.double ?? 0) > 0.1)
    }
    #endif
}
