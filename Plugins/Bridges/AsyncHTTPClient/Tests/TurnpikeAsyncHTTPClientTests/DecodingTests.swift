// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import Foundation
import Testing
import Turnpike
import TurnpikeAsyncHTTPClient
import TurnpikeSupport
import TurnpikeTesting

@Suite("Content codings over async-http-client", .timeLimit(.minutes(2)))
struct DecodingTests {
    private static let plain = Data(repeating: 0x61, count: 100_000)

    private static func encoded(_ format: CompressionFormat) throws -> Data {
        let deflater = try Deflater(format, level: 9)
        return try deflater.add(plain) + deflater.finish()
    }

    @Test("The transport decodes for an HTTPClient that does not")
    func transport() async throws {
        try await withBridge { bridge in
            let gzip = try Self.encoded(.gzip)
            bridge.server.route("/", .ok(data: gzip, headers: ["Content-Encoding": "gzip"]))
            let response = try await bridge.client.get("/").response()
            #expect(response.headers[.contentEncoding] == nil)
            #expect(try await response.body.collect(upTo: 1 << 20) == Self.plain)
            #expect(response.body.encodedBytes == Int64(gzip.count))
            #expect(
                bridge.server.requests[0].headers[.acceptEncoding]
                    == CompressionFormat.acceptEncoding)
        }
    }

    @Test("An HTTPClient that decodes is left to it")
    func client() async throws {
        let configuration = HTTPClient.Configuration(decompression: .enabled(limit: .none))
        try await withBridge(configuration, traits: .decodesContent) { bridge in
            let gzip = try Self.encoded(.gzip)
            bridge.server.route("/", .ok(data: gzip, headers: ["Content-Encoding": "gzip"]))
            let response = try await bridge.client.get("/").response()
            #expect(response.headers[.contentEncoding] == nil)
            #expect(response.headers[.contentLength] == nil)
            #expect(response.body.length == nil)
            #expect(try await response.body.collect(upTo: 1 << 20) == Self.plain)
            #expect(bridge.server.requests[0].headers[.acceptEncoding] == "gzip, deflate")
        }
    }

    @Test("The HTTPClient's own limit on decoding is an error of size")
    func limit() async throws {
        let configuration = HTTPClient.Configuration(decompression: .enabled(limit: .size(1000)))
        try await withBridge(configuration, traits: .decodesContent) { bridge in
            let gzip = try Self.encoded(.gzip)
            bridge.server.route("/", .ok(data: gzip, headers: ["Content-Encoding": "gzip"]))
            let error = try await failure { _ = try await bridge.content(bridge.client.get("/")) }
            #expect(error.code == .tooLarge)
        }
    }

    @Test("An HTTPClient that decodes without the transport's knowledge is an error, not garbage")
    func misjudged() async throws {
        let configuration = HTTPClient.Configuration(decompression: .enabled(limit: .none))
        try await withBridge(configuration) { bridge in
            let gzip = try Self.encoded(.gzip)
            bridge.server.route("/", .ok(data: gzip, headers: ["Content-Encoding": "gzip"]))
            let error = try await failure { _ = try await bridge.content(bridge.client.get("/")) }
            #expect(error.code == .decompression)
        }
    }

    @Test("A request with an Accept-Encoding of its own gets the bytes as they come")
    func asTheyCome() async throws {
        try await withBridge { bridge in
            let gzip = try Self.encoded(.gzip)
            bridge.server.route("/", .ok(data: gzip, headers: ["Content-Encoding": "gzip"]))
            let call = bridge.client.get("/", headers: ["Accept-Encoding": "gzip"])
            let response = try await call.response()
            #expect(response.headers[.contentEncoding] == "gzip")
            #expect(try await response.body.collect(upTo: 1 << 20) == gzip)
        }
    }
}
