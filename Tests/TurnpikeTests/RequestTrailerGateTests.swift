// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import Turnpike
import TurnpikeTesting

/// What becomes of a request's trailer fields on their way through gates.
@Suite("Trailer fields of requests behind gates")
struct RequestTrailerGateTests {
    private static let url: Target = "http://a.example/x"

    // Tells for which opening it was made.
    private func numbered(_ body: RequestBody) -> RequestBody {
        let made = Mutex(0)
        return body.followed(by: ["X-Send"]) {
            [
                "X-Send": String(
                    made.withLock {
                        $0 += 1; return $0
                    })
            ]
        }
    }

    @Test("A retry and a redirect that repeat the content compute them again")
    func replays() async throws {
        let transport = MockTransport([
            .on(.put, "/x", .status(503), .status(307, headers: ["Location": "/y"])),
            .on(.put, "/y", .ok(text: "x")),
        ])
        let clock = ManualClock()
        let client = Client(
            transport: transport, stack: [.redirect(), .retry()], timeSource: clock)
        let call = Task {
            try await client.put(Self.url, body: numbered(.text("hello"))).string()
        }
        try await clock.waitForTimers(1)
        clock.advance(by: .seconds(30))
        #expect(try await call.value == "x")
        #expect(transport.sent.map(\.body) == Array(repeating: Data("hello".utf8), count: 3))
        #expect(transport.sent.map(\.trailers) == (1...3).map { ["X-Send": "\($0)"] })
        #expect(transport.sent.allSatisfy { $0.request.headers[.trailer] == "X-Send" })
    }

    @Test("A redirect that drops the content drops them and their announcement")
    func dropped() async throws {
        let transport = MockTransport([
            .on(.post, "/x", .status(303, headers: ["Location": "/y"])),
            .on(.get, "/y", .ok(text: "x")),
        ])
        let client = Client(transport: transport, stack: [.redirect()])
        _ = try await client.post(Self.url, body: numbered(.text("hello"))).string()
        #expect(transport.sent.last?.request.headers.contains(.trailer) == false)
        #expect(transport.sent.last?.trailers.isEmpty == true)
    }

    @Test("Content with trailers is not compressed")
    func compression() async throws {
        let transport = MockTransport { _ in .ok() }
        let client = Client(transport: transport, stack: [.compressBodies()])
        let content = Data(count: 100_000)
        _ = try await client.post(Self.url, body: numbered(.data(content))).response()
        let sent = try #require(transport.sent.first)
        #expect(sent.body == content && sent.trailers == ["X-Send": "1"])
        #expect(!sent.request.headers.contains(.contentEncoding))
    }

    @Test("A form refuses a part with trailers")
    func multipart() async throws {
        let transport = MockTransport { _ in .ok() }
        var form = MultipartFormData()
        form.append(numbered(.text("hello")), name: "a")
        let error = await #expect(throws: ClientError.self) {
            try await Client(transport: transport, stack: []).post(Self.url, multipart: form)
                .response()
        }
        #expect(error?.code == .invalidRequest)
        #expect(transport.sentCount == 0)
    }

    @Test(
        "A cassette passes them on, whether or not the body can be opened again",
        arguments: [true, false])
    func cassette(isReplayable: Bool) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        for mode in [CassetteTransport.Mode.record, .recordMissing] {
            let transport = MockTransport { _ in .ok(text: "x") }
            let cassette = try CassetteTransport(file: file, mode: mode, transport: transport)
            let body = RequestBody.stream(replayable: isReplayable) {
                AsyncStream<Data> { continuation in
                    continuation.yield(Data("hello".utf8))
                    continuation.finish()
                }
            }
            let path = mode == .record ? "http://a.example/r" : "http://a.example/m"
            let client = Client(transport: cassette, stack: [])
            _ = try await client.post(
                Target(path), body: body.followed(by: ["X-A"]) { ["X-A": "1"] }
            ).data()
            #expect(transport.sent.map(\.trailers) == [["X-A": "1"]])
            #expect(transport.sent.map(\.body) == [Data("hello".utf8)])
        }
    }

    @Test("A request with them has no curl command")
    func curlCommand() {
        let request = Request(.post, Self.url, body: numbered(.text("hello")))
        #expect(request.curlCommand().contains("curl sends no trailers"))
    }
}
