// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

@Suite("Request bodies over libcurl")
struct CurlUploadTests {
    private let server: TestServer
    private let client: Client
    private let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)

    init() throws {
        let fixture = try CurlFixture()
        server = fixture.server
        client = fixture.client
    }

    private func removeFile() { try? FileManager.default.removeItem(at: file) }

    @Test("What a live body yields leaves at once")
    func live() async throws {
        let content = AsyncStream.makeStream(of: Data.self)
        server.route("/", .echo.withoutReading())
        server.route("/", .handler { _ in .ok(text: "early") }.withoutReading())
        let call = Task {
            try await client.post(
                "/", body: .stream(live: true) { content.stream },
                headers: ["Expect": "100-continue"]
            ).string()
        }
        content.continuation.yield(Data("first".utf8))
        #expect(try await call.value == "early", "the answer came before the body's end")
        content.continuation.finish()
    }

    @Test("A missing file sends nothing")
    func missingFile() async throws {
        let error = await #expect(throws: ClientError.self) {
            try await client.post("/", body: .file(file)).empty()
        }
        #expect(error?.code == .upload)
        #expect(server.counts.accepted == 0)
    }

    @Test(
        "A request that may not be sent twice is not, though its connection died under it",
        arguments: [RequestBody.Kind.data, .stream, nil])
    func notTwice(kind: RequestBody.Kind?) async throws {
        server.route("/ok", .ok(text: "x"))
        server.route("/post", .close)
        #expect(try await client.get("ok").string() == "x")
        let body = try kind.map { try RequestBody.of($0, Data("hello".utf8), file: file) } ?? .empty
        let error = await #expect(throws: ClientError.self) {
            try await client.post("post", body: body).empty()
        }
        #expect(error?.code == .connection)
        #expect(error?.transfer?.phase == .sending)
        #expect(server.requests(to: "/post").count == 1)
        // By the caller's word it is, in full.
        server.route("/retryable", .close, .echo)
        #expect(try await client.get("ok").string() == "x")
        let echo = try await client.post("retryable", body: body).retryable().json()
        #expect(echo["body"]?.string == (kind == nil ? "" : "hello"))
    }

    @Test(
        "A request that died with its connection was sent, though no other connection can be had",
        arguments: [false, true])
    func sentBeforeRefusal(isRepeatable: Bool) async throws {
        server.route("/ok", .ok(text: "x"))
        server.route(
            "/post",
            .handler { [weak server] _ in
                server?.stop()
                return .close
            })
        #expect(try await client.get("ok").string() == "x")
        let call = client.post("post", body: .text("hello")).retryable(isRepeatable)
        let error = await #expect(throws: ClientError.self) { try await call.empty() }
        #expect(error?.code == .connection)
        #expect(error?.transfer?.phase == .sending)
        #expect(error?.transfer?.isUnsent == false)
        #expect(server.requests(to: "/post").count == 1)
    }

    @Test(
        "A server that does not want to be asked for its consent gets the request once",
        arguments: [HTTPMethod.put, .post])
    func refusedConsentOfKept(method: HTTPMethod) async throws {
        server.route("/", .status(417).withoutReading(), .echo)
        server.route("/told", .status(417, body: Data("why".utf8)).withoutReading(), .echo)
        for path in ["/", "/told"] {
            let response = try await client.request(
                method, Target(path), headers: [.expect: "100-continue"], body: .text("hello")
            ).response()
            #expect(response.status == 417)
            if path == "/" {
                #expect(try await response.body.collect(upTo: 10).isEmpty)
            } else {
                // Some versions of libcurl skip it: then it is not whole.
                do {
                    let content = try await response.body.collect(upTo: 10)
                    #expect(content == Data("why".utf8))
                } catch let error as ClientError {
                    #expect(error.code == .incomplete)
                }
            }
        }
        server.route("/ok", .ok(text: "x"))
        #expect(try await client.get("ok").string() == "x")
        #expect(server.requests(to: "/").count == 1)
        #expect(server.requests(to: "/told").count == 1)
    }

    @Test("Content that cannot be read for a second send is named as the reason")
    func unreadableRewind() async throws {
        defer { removeFile() }
        let body = try RequestBody.of(.file, Data("hello".utf8), file: file)
        server.route("/ok", .ok(text: "x"))
        server.route(
            "/post",
            .handler { [file] _ in
                try? FileManager.default.removeItem(at: file)
                return .close
            })
        #expect(try await client.get("ok").string() == "x")
        let error = await #expect(throws: ClientError.self) {
            try await client.post("post", body: body).retryable().empty()
        }
        #expect(error?.code == .upload)
        #expect(server.requests(to: "/post").count == 1)
    }

    @Test("Many dead connections in a row are no failure")
    func deadConnections() async throws {
        server.route("/", .ok(text: "x").thenClose())
        for _ in 0..<60 { #expect(try await client.get("/").string() == "x") }
    }

    @Test("A server that refuses to be asked for its consent, and closes, gets the request once")
    func refusedConsent() async throws {
        server.route("/", .status(417).withoutReading().thenClose())
        let call = client.post(
            "/", body: .data(Data(count: 100_000)), headers: [.expect: "100-continue"])
        #expect(try await call.response().status == 417)
        #expect(server.requests.count == 1)
    }

    @Test("Content waits for the server's consent where the request says so")
    func consent() async throws {
        server.route("/", .echo)
        let echo = try await client.post(
            "/", body: .text("hello"), headers: ["Expect": "100-continue"]
        ).json()
        #expect(echo["body"] == "hello")
        #expect(server.requests.first?.headers[.expect] == "100-continue")
        server.route("/no", .status(413, body: Data("no".utf8)).withoutReading().withoutContinue())
        let call = client.post(
            "no", body: .data(Data(count: 1_000_000)), headers: ["Expect": "100-continue"])
        let response = try await call.response()
        #expect(response.status == 413)
    }

    @Test("A server that says nothing gets the content after a second; unasked, at once")
    func silentConsent() async throws {
        server.route("/", .echo.withoutContinue())
        let content = RequestBody.data(Data(count: 200_000))
        let plain = try await client.post("/", body: content).json()
        #expect(plain["bodyBytes"] == 200_000)
        #expect(server.requests.first?.headers.contains(.expect) == false)
        let waiting = try await client.post(
            "/", body: content, headers: ["Expect": "100-continue"]
        ).response()
        let (sent, head) = (waiting.timeline.sent, waiting.timeline.head)
        let echo = try JSONValue(parsing: await waiting.body.collect(upTo: 4_000_000))
        #expect(echo["bodyBytes"] == 200_000)
        // Never early; how late it is depends on the machine.
        let took = try #require(sent).duration(to: try #require(head))
        #expect(took >= .milliseconds(900))
    }

    @Test(
        "Progress is told of as content is sent, up to its end",
        arguments: RequestBody.Kind.allCases)
    func progress(kind: RequestBody.Kind) async throws {
        defer { removeFile() }
        server.route("/", .ok(text: "x"))
        let content = Data(count: 900_000)
        let running = client.put("/", body: try .of(kind, content, file: file)).start(.data)
        var seen: [TransferProgress] = []
        for await progress in running.progress { seen.append(progress) }
        _ = try await running.value
        let sent = seen.map(\.bytesSent)
        #expect(sent == sent.sorted() && sent.last == Int64(content.count))
        #expect(seen.last?.bytesReceived == 1 && seen.last?.totalToReceive == 1)
        let total = kind.hasLength ? Int64(content.count) : nil
        #expect(seen.allSatisfy { $0.totalToSend == total })
        #expect(seen.last?.fractionSent == total.map { _ in 1 })
        #expect(server.requests.first?.bodyBytes == Int64(content.count))
    }
}
