// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeDownloads
import TurnpikeSupport
import TurnpikeTesting

@Suite("Cookbook: streams and files")
struct TransferRecipeTests {
    private let folder = FileManager.default.temporaryDirectory
        .appending(path: "turnpike-cookbook-\(UUID().uuidString)", directoryHint: .isDirectory)

    private func client(_ stubs: MockStub..., clock: any TimeSource = SystemTimeSource()) -> Client
    {
        Client(
            baseURL: "https://api.example.com/v1/", transport: MockTransport(stubs),
            timeSource: clock)
    }

    private func inFolder<Value>(_ work: () async throws -> Value) async throws -> Value {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try await work()
    }

    private func events(_ data: [String]) -> MockResponse {
        .stream(
            data.map { Data("data: \($0)\n\n".utf8) },
            headers: ["Content-Type": "text/event-stream"])
    }

    @Test("An answer of a language model comes in pieces, and one that breaks off is an error")
    func languageModel() async throws {
        let piece = #"{"choices":[{"delta":{"content":"Ma"}}]}"#
        let last = #"{"choices":[{"delta":{"content":"rs"}}]}"#
        let end = #"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#
        let fault = #"{"error":{"message":"overloaded"}}"#
        let clock = ManualClock()
        let client = client(
            .any(
                .status(429, headers: ["Retry-After": "7"]),
                events([piece, last, end, "[DONE]"]), events([piece]), events([piece, fault])),
            clock: clock)
        async let answer = complete(client, "Which planet is red?") { _ in }
        try await clock.waitForTimer(in: .seconds(7))
        clock.advance(by: .seconds(7))
        #expect(try await answer == "Mars")
        for code in [ClientError.Code.incomplete, .validation] {
            var shown = ""
            let error = await #expect(throws: ClientError.self) {
                _ = try await complete(client, "Which planet is red?") { shown += $0 }
            }
            #expect(error?.code == code && shown == "Ma")
        }
    }

    @Test("Lines of JSON are taken one after another")
    func jsonLines() async throws {
        let lines = "{\"id\":1,\"total\":5}\n{\"id\":2,\"total\":6}\n"
        let client = client(.on(.get, "/v1/export", .ok(text: lines)))
        var stored: [Order] = []
        let count = try await importOrders(client) { stored.append($0) }
        #expect(count == 2 && stored.map(\.total) == [5, 6])
    }

    @Test("Lines of JSON are made while they are sent, and again for the next attempt")
    func jsonLinesUpload() async throws {
        let transport = MockTransport([.any(.connectionLost, .status(204))])
        let client = Client(
            baseURL: "https://api.example.com/v1/", transport: transport,
            stack: [.validate(), .retry(backoff: .constant(.zero))])
        try await exportOrders([Order(id: 1, total: 5), Order(id: 2, total: 6)], client)
        let text = try #require(transport.sent.last?.text)
        #expect(transport.sentCount == 2)
        #expect(text.split(separator: "\n").count == 2)
        #expect(transport.sent.last?.request.headers[.contentType] == "application/x-ndjson")
    }

    @Test("An upload of a file tells its progress, and its value")
    func upload() async throws {
        try await inFolder {
            let video = folder.appending(path: "video.mp4")
            try Data(count: 300_000).write(to: video)
            let server = try TestServer()
            server.route("/videos", .ok(json: ["id": 7]))
            var last = 0.0
            let answer = try await send(video, Client(baseURL: server.target)) { last = $0 }
            #expect(answer["id"] == 7 && last <= 1)
            #expect(server.requests.first?.bodyBytes == 300_000)
        }
    }

    @Test("A form has a field and a file")
    func multipart() async throws {
        try await inFolder {
            let picture = folder.appending(path: "me.png")
            try Data("PNG".utf8).write(to: picture)
            let transport = MockTransport { _ in .ok(json: ["id": 7]) }
            let client = Client(baseURL: "https://api.example.com/v1/", transport: transport)
            #expect(try await register("Ada", picture: picture, client)["id"] == 7)
            let text = try #require(transport.sent.first?.text)
            #expect(text.contains("name=\"picture\"; filename=\"me.png\"") && text.contains("Ada"))
        }
    }

    @Test("A file whose checksum is wrong never appears")
    func checksum() async throws {
        try await inFolder {
            let place = folder.appending(path: "tool")
            let client = client(.on(.get, "/v1/files/tool", .ok(text: "abc")))
            let right = SHA256.digest(of: Data("abc".utf8)).hexadecimal.uppercased()
            let error = await #expect(throws: ClientError.self) {
                try await fetch("tool", sha256: "00", to: place, client)
            }
            #expect(error?.code == .download)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path()) == [])
            try await fetch("tool", sha256: right, to: place, client)
            #expect(try String(contentsOf: place, encoding: .utf8) == "abc")
        }
    }

    @Test("A download that broke off goes on where it was, in a later call too")
    func resumableDownload() async throws {
        try await inFolder {
            let content = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0) })
            let server = try TestServer()
            let whole = TestAnswer.ranges(of: content)
            server.route("/big", whole.cut(after: 50_000), .status(404), whole)
            let place = folder.appending(path: "big")
            let client = Client(
                baseURL: server.target, transport: URLSessionTransport(), stack: [.validate()],
                timeSource: SystemTimeSource())
            let error = await #expect(throws: ClientError.self) {
                _ = try await fetchLarge("big", to: place, client) { _ in }
            }
            #expect(error?.code == .validation)
            let file = try await fetchLarge("big", to: place, client) { _ in }
            #expect(try Data(contentsOf: place) == content)
            #expect(file.resumedFrom > 0)
        }
    }

    @Test("An upload that broke off goes on where the server is, in a later call too")
    func resumableUpload() async throws {
        try await inFolder {
            let video = folder.appending(path: "video")
            try Data("0123456789".utf8).write(to: video)
            let client = client(
                .on(
                    .post, "/v1/videos",
                    .status(201, headers: ["Location": "/uploads/1", "Upload-Complete": "?0"])),
                .on(
                    .patch, "/uploads/1", .status(403),
                    .status(
                        200, json: ["id": "v7"], headers: ["Upload-Complete": "?1"])),
                .on(
                    .head, "/uploads/1",
                    .status(204, headers: ["Upload-Offset": "4", "Upload-Complete": "?0"])))
            await #expect(throws: ClientError.self) {
                _ = try await sendLarge(video, client) { _ in }
            }
            #expect(try await sendLarge(video, client) { _ in } == "v7")
            let transport = try #require(client.transport as? MockTransport)
            #expect(transport.sent(.patch, "/uploads/1").map(\.text) == ["0123456789", "456789"])
        }
    }
}
