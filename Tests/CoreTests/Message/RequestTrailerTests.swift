// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import TurnpikeCore

@Suite("Trailer fields of requests")
struct RequestTrailerTests {
    private func read(_ body: RequestBody) async throws -> (Data, HTTPHeaders) {
        let reader = try body.open()
        var content = Data()
        while let chunk = try await reader.next() {
            #expect(reader.trailers.isEmpty)
            content.append(chunk)
        }
        return (content, reader.trailers)
    }

    private func client(
        _ transport: any Transport, _ stack: Stack = []
    ) -> Client {
        Client(transport: transport, stack: stack, serializers: SerializerTable())
    }

    private static let url: Target = "http://a.example/"

    private static func counted(_ body: RequestBody) -> RequestBody {
        body.followed(by: ["X-Count"], reducingInto: { 0 }) {
            $0 += $1.count
        } trailers: {
            ["X-Count": String($0)]
        }
    }

    @Test(
        "They are computed from the content that was read, again for each attempt",
        arguments: ["empty", "data", "stream", "parts"])
    func kinds(kind: String) async throws {
        let stream = RequestBody.stream(replayable: true) {
            AsyncStream<Data> { continuation in
                for text in ["ab", "", "c"] { continuation.yield(Data(text.utf8)) }
                continuation.finish()
            }
        }
        let body: RequestBody =
            switch kind {
            case "empty": .empty
            case "data": .text("abc")
            case "parts": .concatenating([.text("a"), stream])
            default: stream
            }
        let counted = Self.counted(body)
        let length = kind == "empty" ? 0 : kind == "parts" ? 4 : 3
        for _ in 0..<2 {
            let (content, trailers) = try await read(counted)
            #expect(content.count == length)
            #expect(trailers == ["X-Count": String(length)])
        }
        #expect(counted.length == body.length)
        #expect(counted.contentType == body.contentType)
        #expect(!counted.isEmpty && counted.isReplayable && counted.inMemory == nil)
        #expect(counted.trailerNames == ["X-Count"])
    }

    @Test("Several follow each other, and constant ones need no closure")
    func several() async throws {
        let body = Self.counted(.text("abc")).followed(by: ["X-A": "1", "X-B": ""])
        #expect(try await read(body).1 == ["X-Count": "3", "X-A": "1", "X-B": ""])
        #expect(body.trailerNames == ["X-Count", "X-A", "X-B"])
        #expect(RequestBody.text("x").followed(by: [:]).trailerNames.isEmpty)
        #expect(RequestBody.text("x").followed(by: [:]).inMemory != nil)
    }

    @Test("MockTransport receives them, and the field Trailer announces them")
    func mock() async throws {
        let transport = MockTransport { _ in .ok() }
        let call = client(transport).post(
            Self.url, body: Self.counted(.text("abc")), headers: ["Trailer": "nonsense"])
        _ = try await call.response()
        let sent = try #require(transport.sent.first)
        #expect(sent.body == Data("abc".utf8))
        #expect(sent.trailers == ["X-Count": "3"])
        #expect(sent.request.headers.values(of: .trailer) == ["X-Count"])
    }

    @Test(
        "Names that are not allowed in trailers fail the call before anything is sent",
        arguments: [
            "Content-Length", "transfer-encoding", "Host", "Authorization", "Cookie", "Trailer",
            "TE", "Content-Type", "Content-Encoding", "Cache-Control", "If-Match", "X A", "",
            "X\r\nY",
        ])
    func forbidden(name: String) async throws {
        let transport = MockTransport { _ in .ok() }
        let asked = Mutex(false)
        for names in [[HTTPHeaders.Name(name)], ["X-A", HTTPHeaders.Name(name)]] {
            let body = RequestBody.text("abc").followed(by: names) {
                asked.withLock { $0 = true }
                return [:]
            }
            let error = await #expect(throws: ClientError.self) {
                try await client(transport).post(Self.url, body: body).response()
            }
            #expect(error?.code == .invalidRequest)
            #expect(error?.message.contains("\r") == false)
        }
        let body = RequestBody.text("abc").followed(by: []) { [:] }
        await expectError(.invalidRequest) {
            try await client(transport).post(Self.url, body: body).response()
        }
        #expect(transport.sentCount == 0)
        #expect(!asked.withLock { $0 })
    }

    @Test("Fields that cannot be sent fail the call at the end of the content", arguments: 0..<4)
    func atTheEnd(kind: Int) async throws {
        struct Mine: Error {}
        let transport = MockTransport { _ in .ok() }
        let body = RequestBody.text("abc").followed(by: ["X-A"]) {
            switch kind {
            case 0: return ["X-A": "1\r\nX-B: 2"]
            case 1: return ["X-B": "1"]
            case 2: return ["Content-Length": "1"]
            default: throw Mine()
            }
        }
        let error = await #expect(throws: ClientError.self) {
            try await client(transport).post(Self.url, body: body).response()
        }
        #expect(error?.code == (kind == 3 ? .upload : .invalidRequest))
        if kind == 3 { #expect(error?.underlying is Mine) }
        #expect(error?.message.contains("X-B: 2") == false)
        #expect(transport.sentCount == 0)
    }

    @Test("Transports without request trailers refuse the call and name the feature")
    func unsupported() async throws {
        let mock = MockTransport(capabilities: []) { _ in .ok() }
        let error = await #expect(throws: ClientError.self) {
            try await client(mock).post(Self.url, body: Self.counted(.text("abc"))).response()
        }
        #expect(error?.code == .unsupported)
        #expect(error?.message.contains("request trailers") == true)
        #expect(mock.sentCount == 0)
    }

    @Test("A part of a body cannot have any, so that none is lost")
    func part() async throws {
        let transport = MockTransport { _ in .ok() }
        let body = RequestBody.concatenating([Self.counted(.text("abc")), .text("d")])
        let error = await #expect(throws: ClientError.self) {
            try await client(transport).post(Self.url, body: body).response()
        }
        #expect(error?.code == .invalidRequest)
        #expect(transport.sentCount == 0)
        let whole = Self.counted(.concatenating([.text("abc"), .text("d")]))
        #expect(try await read(whole).1 == ["X-Count": "4"])
    }
}
