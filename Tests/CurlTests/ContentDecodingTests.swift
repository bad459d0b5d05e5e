// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCurl

@Suite("Content codings over libcurl")
struct ContentDecodingTests {
    private let server: TestServer
    private let client: Client

    // "hello" times 1000, by gzip, zlib and raw deflate.
    private static let content = Data(String(repeating: "hello", count: 1000).utf8)
    private static let gzip = coded(
        "H4sIAAAAAAACA+3EoQ0AAAgDsGtJJpbwv+MKXCuaaTeSJEmSJEmSPjvWqsWSiBMAAA==")
    private static let zlib = coded(
        "eJztxKENAAAIA7BrSSaW8L/jClwrmmk3kiRJkiRJkj47pqIemQ==")

    private static func coded(_ text: String) -> Data { Data(base64Encoded: text) ?? Data() }

    init() throws {
        let fixture = try CurlFixture()
        server = fixture.server
        client = fixture.client
    }

    private func answer(_ data: Data, _ coding: String) {
        server.route("/", .ok(data: data, headers: ["Content-Encoding": coding]))
    }

    @Test(
        "Content is decoded, and the fields that told of its coding are gone",
        arguments: ["gzip", "x-gzip", "GZIP", "deflate", "raw", "gzip, identity", "twice"])
    func decoded(coding: String) async throws {
        switch coding {
        case "deflate": answer(Self.zlib, coding)
        case "raw": answer(Self.zlib.dropFirst(2).dropLast(4), "deflate")
        case "twice": answer(Self.gzip + Self.gzip, "gzip")
        default: answer(Self.gzip, coding)
        }
        let response = try await client.get("/").response()
        #expect(response.headers[.contentEncoding] == nil)
        #expect(response.headers[.contentLength] == nil)
        #expect(response.body.length == nil)
        #expect(response.body.encodedLength != nil)
        let wanted = coding == "twice" ? Self.content + Self.content : Self.content
        #expect(try await response.body.collect(upTo: 20_000) == wanted)
        #expect(
            server.requests.first?.headers[.acceptEncoding] == CompressionFormat.acceptEncoding)
    }

    @Test("Each coding that is asked for is decoded", arguments: CompressionFormat.written)
    func each(format: CompressionFormat) async throws {
        let coded = try format.coded(Self.content)
        answer(coded, format.rawValue)
        let response = try await client.get("/").response()
        #expect(try await response.body.collect(upTo: 20_000) == Self.content)
        #expect(response.body.encodedBytes == Int64(coded.count))
        #expect(response.body.encodedLength == Int64(coded.count))
        let accepted = server.requests.first?.headers[.acceptEncoding] ?? ""
        #expect(accepted.split(separator: ", ").contains { $0 == format.rawValue })
        // Cut where its length is told, and where it is not.
        answer(coded.dropLast(), format.rawValue)
        await expectError(.decompression) { try await client.get("/").data() }
        let fields: HTTPHeaders = ["Content-Encoding": format.rawValue]
        server.route("/", .chunked([coded.dropLast()], headers: fields))
        await expectError(.decompression) { try await client.get("/").data() }
    }

    @Test(
        "A recording has the decoded content, and the size of what came",
        arguments: CompressionFormat.written, [false, true])
    func recording(format: CompressionFormat, isChunked: Bool) async throws {
        let coded = try format.coded(Self.content)
        let fields: HTTPHeaders = ["Content-Encoding": format.rawValue]
        server.route(
            "/", isChunked ? .chunked([coded], headers: fields) : .ok(data: coded, headers: fields))
        let folder = TemporaryFolder()
        let file = folder.url.appending(path: "tape.har")
        let cassette = try CassetteTransport(
            file: file, mode: .record, transport: try CurlTransport())
        let recorder = Client(baseURL: server.target, transport: cassette)
        #expect(try await recorder.get("/").data() == Self.content)
        try cassette.save()
        let har = try JSONValue(parsing: Data(contentsOf: file))
        let size = har["log"]?["entries"]?[0]?["response"]?["bodySize"]
        #expect(size == .number(JSONNumber(coded.count)))
        let replay = Client(
            baseURL: server.target, transport: try CassetteTransport(file: file))
        #expect(try await replay.get("/").data() == Self.content)
        #expect(server.requests.count == 1)
    }

    @Test("Content that is cut or damaged is an error", arguments: [1, 10, 30, 45])
    func cut(left: Int) async throws {
        answer(Self.gzip.prefix(left), "gzip")
        let error = await #expect(throws: ClientError.self) { try await client.get("/").data() }
        #expect(error?.code == .decompression)
        var damaged = Self.gzip
        damaged[damaged.count - 6] ^= 1
        answer(damaged, "gzip")
        await expectError(.decompression) { try await client.get("/").data() }
    }

    @Test("A coding that nobody asked for, and too many of them, are errors")
    func unknown() async throws {
        for coding in ["compress", Array(repeating: "gzip", count: 6).joined(separator: ",")] {
            answer(Self.gzip, coding)
            let error = await #expect(throws: ClientError.self) { try await client.get("/").data() }
            #expect(error?.code == .decompression)
        }
    }

    @Test("Who names the codings gets the bytes as they come")
    func raw() async throws {
        answer(Self.gzip, "gzip")
        let response = try await client.get("/", headers: ["Accept-Encoding": "gzip"]).response()
        #expect(response.headers[.contentEncoding] == "gzip")
        #expect(try await response.body.collect(upTo: 10_000) == Self.gzip)
    }

    @Test("A part of the content comes as bytes of the content, and not of its coding")
    func range() async throws {
        answer(Self.gzip, "gzip")
        let response = try await client.get("/", headers: ["Range": "bytes=0-9"]).response()
        #expect(server.requests.first?.headers[.acceptEncoding] == "identity")
        // Whatever the server makes of it.
        #expect(try await response.body.collect(upTo: 10_000) == Self.gzip)
    }

    @Test("A small response does not become a large one that nobody reads")
    func bomb() async throws {
        // 64 MiB of nothing, coded three times.
        let bomb = try #require(
            output(of: "sh", "-c", "head -c 67108864 /dev/zero | gzip -9 | gzip -9 | gzip -9"))
        answer(bomb, "gzip, gzip, gzip")
        let response = try await client.get("/").response()
        let error = await #expect(throws: ClientError.self) {
            try await response.body.collect(upTo: 1_000_000)
        }
        #expect(error?.code == .tooLarge)
    }

    @Test("Content may be coded five times, and no more")
    func codings() async throws {
        for count in [5, 6] {
            let pipes = String(repeating: " | gzip", count: count)
            let coded = try #require(output(of: "sh", "-c", "printf x" + pipes))
            answer(coded, Array(repeating: "gzip", count: count).joined(separator: ", "))
            let content = try? await client.get("/").string()
            #expect(content == (count == 5 ? "x" : nil))
        }
    }

    @Test("A ratio bounds what has come, declared or not", arguments: [true, false])
    func ratio(isChunked: Bool) async throws {
        let bomb = try #require(
            output(of: "sh", "-c", "head -c 67108864 /dev/zero | gzip -9"))
        let headers: HTTPHeaders = ["Content-Encoding": "gzip"]
        if isChunked {
            server.route("/", .chunked([bomb], headers: headers))
        } else {
            // One that claims to have much more behind it.
            let head =
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 99999999\r\n\r\n"
            server.route("/", .raw(Data(head.utf8) + bomb, closes: false))
        }
        var count = 0
        let response = try await client.get("/").limits(Limits.Bounds()).response()
        let error = await #expect(throws: ClientError.self) {
            for try await chunk in response.body { count += chunk.count }
        }
        #expect(error?.code == .tooLarge)
        #expect(count <= bomb.count * 100)
        let loose = client.get("/").limits(Limits.Bounds(ratio: 2000))
        if isChunked { #expect(try await loose.data().count == 67_108_864) }
    }

    @Test(
        "Coded content of no bytes is empty, where its end is told",
        arguments: ["gzip", "deflate", "br", "zstd"])
    func nothing(coding: String) async throws {
        server.route("/", .chunked([], headers: ["Content-Encoding": coding]))
        #expect(try await client.get("/").data().isEmpty)
        let head = Data("HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\n\r\n".utf8)
        server.route("/cut", .raw(head))
        let error = await #expect(throws: ClientError.self) {
            try await client.get("cut").data()
        }
        #expect(error?.code == .decompression)
    }

    @Test(
        "A transfer coding that nobody asked for is no content",
        arguments: ["gzip", "gzip, chunked", "GZIP", "deflate,chunked", "foo"])
    func transferCoding(codings: String) async throws {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: \(codings)\r\n\r\n"
        let size = String(Self.gzip.count, radix: 16)
        let isChunked = codings.hasSuffix("chunked")
        let content =
            isChunked
            ? Data("\(size)\r\n".utf8) + Self.gzip + Data("\r\n0\r\n\r\n".utf8) : Self.gzip
        server.route("/", .raw(Data(head.utf8) + content))
        for headers: HTTPHeaders in [[:], ["TE": "gzip"], ["Accept-Encoding": "gzip"]] {
            let error = await #expect(throws: ClientError.self) {
                try await client.get("/", headers: headers).data()
            }
            #expect(error?.code == .decompression)
            #expect(error?.message.contains("transfer coding") == true)
        }
        // HEAD has no content that could be coded.
        #expect(try await client.request(.head, "/").response().status == 200)
    }
}
