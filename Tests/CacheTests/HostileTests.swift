// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCache
@testable import TurnpikeCore

@Suite("What a peer may send to a cache")
struct HostileTests {
    private static let fields = [
        "Cache-Control", "Pragma", "Age", "Date", "Expires", "Last-Modified", "ETag", "Vary",
        "Connection", "Content-Range", "Content-Length", "Set-Cookie", "Content-Location",
        "Location", "Content-Language", "Cache-Status",
    ]
    private static let requestFields = [
        "Cache-Control", "Range", "If-Range", "If-None-Match", "If-Modified-Since",
        "Accept-Language", "Pragma", "Authorization",
    ]
    private static let pieces = [
        "max-age", "stale-if-error", "stale-while-revalidate", "max-stale", "no-cache", "=", ",",
        ";", "\"", "\\", "-", "0", "9", "99999999999999999999", "\t", " ", "*", "W/", "é", "bytes=",
        "Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "a", "http://[", "q=",
        "only-if-cached", "%", "/", "\u{1F600}", "60",
    ]

    @Test("A validator that no request may send back is not sent, and costs no call")
    func unsendableValidator() async throws {
        var headers: HTTPHeaders = ["Cache-Control": "max-age=1"]
        headers.appendReceived("ETag", "\"a\u{7F}b\"")
        let client = CachedClient { [headers] _ in
            .status(200, headers: headers, body: Data("x".utf8))
        }
        #expect(try await client.get("/").text == "x")
        client.clock.advance(by: .seconds(60))
        #expect(try await client.get("/").text == "x")
        #expect(client.transport.sent.allSatisfy { !$0.request.headers.contains(.ifNoneMatch) })
        #expect(client.sent == 2)
    }

    @Test("A response to the caller's own range or condition is not stored", arguments: [412, 416])
    func ownCondition(status: Int) async throws {
        let client = CachedClient { request in
            let isPart = request.headers.contains(.range)
            return .status(
                isPart ? HTTPStatus(status) : 200, headers: ["Cache-Control": "max-age=3600"],
                body: Data("x".utf8))
        }
        #expect(try await client.get("/", ["Range": "bytes=9-"]).code == status)
        #expect(try await client.get("/").code == 200)
        #expect(client.sent == 2)
    }

    @Test("No field, whatever it holds, traps, and each call is answered", arguments: 0..<8)
    func noTrap(seed: Int) async throws {
        let folder = TemporaryFolder()
        let store = TieredStore(MemoryStore(maxBytes: 100_000), DiskStore(directory: folder.path))
        let answers = SeededHeaders(seed: UInt64(seed), fields: Self.fields, pieces: Self.pieces)
        let questions = SeededHeaders(
            seed: UInt64(seed) + 100, fields: Self.requestFields, pieces: Self.pieces)
        let statuses = [200, 200, 200, 206, 304, 404, 500, 503, 599]
        let cached = CachedClient(store) { _ in
            let number = Int(answers.number() % UInt64(statuses.count))
            return .status(
                HTTPStatus(statuses[number]), headers: answers.next(), body: Data("body".utf8))
        }
        for number in 0..<300 {
            let method: HTTPMethod = number % 7 == 0 ? .head : number % 11 == 0 ? .put : .get
            let answer = try await cached.send(method, "/\(number % 5)", questions.next())
            #expect(answer.code > 0)
            if number % 20 == 0 { cached.clock.advance(by: .seconds(30)) }
        }
        await cached.client.shutdown()
    }
}

/// Header sections made of pieces, by a seed.
private final class SeededHeaders: Sendable {
    private let generator: Mutex<SeededGenerator>
    private let fields: [String]
    private let pieces: [String]

    init(seed: UInt64, fields: [String], pieces: [String]) {
        generator = Mutex(SeededGenerator(seed: seed))
        self.fields = fields
        self.pieces = pieces
    }

    func number() -> UInt64 { generator.withLock { $0.next() } }

    func next() -> HTTPHeaders {
        generator.withLock { generator in
            var headers = HTTPHeaders()
            for _ in 0..<Int.random(in: 0...5, using: &generator) {
                guard let name = fields.randomElement(using: &generator) else { continue }
                var value = ""
                for _ in 0..<Int.random(in: 0...6, using: &generator) {
                    value += pieces.randomElement(using: &generator) ?? ""
                }
                headers.append(HTTPHeaders.Name(name), value)
            }
            if Bool.random(using: &generator) { headers.append(.cacheControl, "max-age=60") }
            return headers
        }
    }
}
