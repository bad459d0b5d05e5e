// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

/// What a server receives.
@Suite("Requests over real sockets")
struct TransportRequestTests {
    private let server: TestServer
    private let folder = TemporaryFolder()
    private var file: URL { folder.url.appending(path: "content") }

    init() throws { server = try TestServer() }

    @Test("A request comes as it was made, and its answer as it was sent", arguments: Road.allCases)
    func roundTrip(road: Road) async throws {
        let client = try road.client(to: server)
        server.route("/echo", .echo)
        let response = try await client.post(
            "echo", body: .json(["a": 1]), query: ["q": "a b"],
            headers: ["X-Empty": "", "Accept-Language": "de"]
        ).response()
        #expect(response.status == 200)
        let echo = try JSONValue(parsing: try await response.body.collect(upTo: 10_000))
        #expect(echo["method"] == "POST")
        #expect(echo["target"] == "/echo?q=a%20b")
        #expect(echo["body"] == #"{"a":1}"#)
        let request = try #require(server.requests.first)
        #expect(request.headers[.contentType] == "application/json")
        #expect(request.headers[.contentLength] == "7")
        #expect(request.headers[.host] == "127.0.0.1:\(server.port)")
        #expect(request.headers[.acceptLanguage] == "de")
        #expect(!request.headers.contains(.transferEncoding))
        #expect(!request.headers.contains(.expect))
        #expect(request.headers["X-Empty"]?.isEmpty == true)
        // URLSession tells no version.
        #expect(response.head.version == (road == .curl ? "1.1" : nil))
    }

    @Test("Nothing is sent that was not asked for", arguments: Road.allCases)
    func defaultFields(road: Road) async throws {
        server.route("/", .ok(text: "x"))
        try await road.client(to: server).get("/").empty()
        let names = try #require(server.requests.first).headers.map(\.name.rawValue).sorted()
        let own = road == .urlSession ? ["Connection"] : []
        #expect(names == ["Accept", "Accept-Encoding"] + own + ["Host", "User-Agent"])
        #expect(server.requests.first?.headers[.userAgent] == "turnpike")
    }

    @Test(
        "Bodies of every kind arrive whole, in chunks only if libcurl does not know their length",
        arguments: Road.allCases, RequestBody.Kind.allCases)
    func kinds(road: Road, kind: RequestBody.Kind) async throws {
        // URLSession can send no body while it is made.
        if road == .urlSession, kind == .live { return }
        server.route("/", .ok(text: "x"))
        let content = Data((0..<900_000).map { UInt8(truncatingIfNeeded: $0 / 3) })
        let response = try await road.client(to: server).put(
            "/", body: .of(kind, content, file: file)
        ).response()
        #expect(try await response.body.collect(upTo: 10) == Data("x".utf8))
        if road == .curl { #expect(response.timeline.bodyBytesSent == 900_000) }
        let request = try #require(server.requests.first)
        #expect(request.body == content)
        let isChunked = road == .curl && !kind.hasLength
        #expect(request.headers.values(of: .contentLength) == (isChunked ? [] : ["900000"]))
        #expect(request.headers[.transferEncoding] == (isChunked ? "chunked" : nil))
    }

    @Test("A range of a file is sent, and no body as one of no bytes", arguments: Road.allCases)
    func range(road: Road) async throws {
        let client = try road.client(to: server)
        server.route("/", .ok(text: "x"))
        try Data(0...99).write(to: file)
        for body in [RequestBody.file(file, range: 10..<60), .empty] {
            try await client.put("/", body: body).empty()
        }
        #expect(server.requests.map(\.body) == [Data(10..<60), Data()])
        #expect(server.requests.map { $0.headers.values(of: .contentLength) } == [["50"], ["0"]])
    }

    @Test("A stream that fails ends the call with its error", arguments: Road.allCases)
    func failing(road: Road) async throws {
        struct Broken: Error {}
        server.route("/", .ok(text: "x"))
        let body = RequestBody.stream {
            AsyncThrowingStream<Data, any Error> {
                $0.yield(Data("ab".utf8)); $0.finish(throwing: Broken())
            }
        }
        let client = try road.client(to: server)
        let error = await #expect(throws: ClientError.self) {
            try await client.post("/", body: body).empty()
        }
        #expect(error?.code == .upload)
        #expect(error?.underlying is Broken)
        // Nothing is sent that looks whole.
        #expect(server.requests.allSatisfy { road == .curl && !$0.isComplete })
    }

    @Test("HEAD, 204 and 304 have no content, whatever they announce", arguments: Road.allCases)
    func noContent(road: Road) async throws {
        let client = try road.client(to: server)
        server.route("/", .ok(data: Data(count: 100), headers: ["Content-Encoding": "gzip"]))
        server.route("/304", .status(304, headers: ["Content-Length": "5", "ETag": "\"x\""]))
        server.route("/204", .status(204))
        let head = try await client.head("/").response()
        #expect(head.headers[.contentLength] == "100")
        #expect(try await head.body.collect(upTo: 0).isEmpty)
        #expect(try await client.get("304").response().body.isEmpty)
        #expect(try await client.get("204").data().isEmpty)
        #expect(server.counts.accepted == 1)
    }

    @Test(
        "Redirects are not followed, whatever their Location",
        arguments: Road.allCases, ["/x", "", "http://", "file:///etc/passwd", nil])
    func redirects(road: Road, location: String?) async throws {
        let headers: HTTPHeaders = location.map { ["Location": $0] } ?? [:]
        server.route("/", .status(302, headers: headers, body: Data("moved".utf8)))
        let response = try await road.client(to: server).get("/").response()
        #expect(response.status == 302)
        // URLSession drops the content behind a Location that it cannot read.
        let content = try await response.body.collect(upTo: 10)
        #expect(content == Data("moved".utf8) || road == .urlSession && content.isEmpty)
        #expect(server.requests.count == 1)
    }

    @Test(
        "A 307 takes the whole body along",
        arguments: Road.allCases, [RequestBody.Kind.data, .stream])
    func redirectWithBody(road: Road, kind: RequestBody.Kind) async throws {
        server.route("/a", .redirect(307, to: "/b"))
        server.route("/b", .echo)
        let client = try road.client(to: server, stack: [.redirect()])
        let body = try RequestBody.of(kind, Data("hello".utf8), file: file)
        let echo = try await client.post("a", body: body).json()
        #expect(echo["body"] == "hello")
        #expect(echo["method"] == "POST")
    }

    @Test("Cookies are not kept, and a challenge is a plain 401", arguments: Road.allCases)
    func stateless(road: Road) async throws {
        let client = try road.client(to: server)
        server.route(
            "/",
            .status(
                401, headers: ["WWW-Authenticate": "Basic realm=\"x\"", "Set-Cookie": "a=1"],
                body: Data("who?".utf8)))
        for headers: HTTPHeaders in [[:], [:], ["Authorization": "Basic eDp5"]] {
            let response = try await client.get("/", headers: headers).response()
            #expect(response.status == 401)
            #expect(response.headers[.wwwAuthenticate]?.hasPrefix("Basic") == true)
            #expect(try await response.body.collect(upTo: 10) == Data("who?".utf8))
        }
        server.route("/ok", .ok(text: "x"))
        #expect(try await client.get("ok").string() == "x")
        #expect(server.requests.count == 4)
        #expect(server.requests.allSatisfy { !$0.headers.contains(.cookie) })
    }

    @Test(
        "A connection that closes without an answer is an error, and is retried where that is safe",
        arguments: Road.allCases)
    func closedConnection(road: Road) async throws {
        let client = try road.client(to: server)
        server.route("/", .close)
        let error = await #expect(throws: ClientError.self) { try await client.get("/").data() }
        #expect(error?.code == .connection)
        #expect(error?.transfer?.phase == .sending)
        server.route("/flaky", .close, .ok(text: "x"))
        let retrying = try road.client(
            to: server, stack: [.retry(backoff: Backoff(base: .zero))])
        #expect(try await retrying.get("flaky").string() == "x")
        server.route("/post", .close, .ok(text: "x"))
        await expectError(.connection) {
            try await retrying.post("post", body: .text("x")).string()
        }
    }

    @Test(
        "A connection that died while it was idle costs no body",
        arguments: Road.allCases, [RequestBody.Kind.data, .stream, .known, .file])
    func keepAliveRace(road: Road, kind: RequestBody.Kind) async throws {
        let client = try road.client(to: server)
        server.route("/first", .ok(text: "x").thenClose())
        server.route("/second", .echo)
        var answers = 0
        for _ in 0..<20 {
            let body = try RequestBody.of(kind, Data("hello".utf8), file: file)
            #expect(try await client.get("first").string() == "x")
            do {
                #expect(try await client.put("second", body: body).json()["body"] == "hello")
                answers += 1
            } catch let error as ClientError where road == .urlSession {
                // URLSession gives up where the connection ends while it sends.
                #expect(error.code == .connection)
            }
        }
        #expect(answers > 0)
    }

    @Test(
        "Two hundred calls at once are all answered, by no more connections than allowed",
        .timeLimit(.minutes(5)), arguments: Road.allCases)
    func concurrency(road: Road) async throws {
        let hold = TestHold()
        server.route("/", .echo.held(by: hold))
        let client = Client(
            baseURL: server.target, transport: try road.transport(maxConnectionsPerHost: 8),
            stack: [])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let echo = try await client.post("/", body: .text("\(number)")).json()
                    #expect(echo["body"]?.string == "\(number)")
                }
            }
            // None is answered until all connections are in use. What URLSession opens later may
            // overlap with one whose end the server has yet to see.
            try await server.wait { $0.inFlight >= 8 }
            #expect(server.counts.accepted == 8)
            hold.open()
            try await group.waitForAll()
        }
        #expect(server.counts.requests == 200)
        #expect(road == .urlSession || server.counts.accepted == 8)
    }

    @Test("After a shutdown calls fail, and the connections are closed", arguments: Road.allCases)
    func shutdown(road: Road) async throws {
        server.route("/", .ok(text: "x"))
        let transport = try road.transport()
        let client = Client(baseURL: server.target, transport: transport, stack: [])
        #expect(try await client.get("/").string() == "x")
        await transport.shutdown()
        await transport.shutdown()
        try await server.wait { $0.open == 0 }
        let error = await #expect(throws: ClientError.self) { try await client.get("/").string() }
        #expect(error?.code == .cancelled)
    }

    @Test("A body may outlive its client and its transport", arguments: Road.allCases)
    func letGo(road: Road) async throws {
        server.route("/", .bytes(3_000_000))
        let body = try await road.client(to: server).get("/").response().body
        #expect(try await body.collect(upTo: 3_000_000).count == 3_000_000)
        try await server.wait { $0.open == 0 }
    }
}
