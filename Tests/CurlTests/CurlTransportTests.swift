import Foundation
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

@Suite("CurlTransport")
struct CurlTransportTests {
    private let server: TestServer
    private let client: Client

    init() throws {
        let fixture = try CurlFixture()
        server = fixture.server
        client = fixture.client
    }

    @Test("A request comes as it was made, and its answer as it was sent")
    func roundTrip() async throws {
        server.route("/echo", .echo)
        let response = try await client.post(
            "echo", body: .json(["a": 1]), query: ["q": "a b"],
            headers: ["X-Empty": "", "Accept-Language": "de"]
        ).response()
        #expect(response.status == 200)
        #expect(response.head.version == "1.1")
        let echo = try JSONValue(parsing: try await response.body.collect(upTo: 10_000))
        #expect(echo["method"] == "POST")
        #expect(echo["target"] == "/echo?q=a%20b")
        #expect(echo["body"] == #"{"a":1}"#)
        let request = try #require(server.requests.first)
        #expect(request.headers[.contentType] == "application/json")
        #expect(request.headers[.contentLength] == "7")
        #expect(request.headers[.host] == "127.0.0.1:\(server.port)")
        #expect(request.headers["X-Empty"]?.isEmpty == true)
        #expect(!request.headers.contains(.transferEncoding))
        #expect(!request.headers.contains(.expect))
    }

    @Test("Nothing is sent that was not asked for")
    func defaultFields() async throws {
        server.route("/", .text("x"))
        try await client.get("/").empty()
        let names = try #require(server.requests.first).headers.map(\.name.rawValue).sorted()
        #expect(names == ["Accept", "Accept-Encoding", "Host", "User-Agent"])
        #expect(server.requests.first?.headers[.userAgent] == "turnpike")
    }

    @Test(
        "A method without content says so where content is expected",
        arguments: [
            ("GET", nil), ("DELETE", nil), ("OPTIONS", nil), ("POST", "0"), ("PUT", "0"),
            ("PATCH", "0"),
        ] as [(HTTPMethod, String?)])
    func emptyContent(method: HTTPMethod, length: String?) async throws {
        server.route("/", .echo)
        #expect(
            try await client.request(method, "/").json()["method"]?.string == method.rawValue)
        #expect(server.requests.first?.headers[.contentLength] == length)
        // What was set for one request is not left for the next.
        #expect(try await client.get("/").json()["method"] == "GET")
    }

    @Test("HEAD, 204 and 304 have no content, whatever they announce")
    func noContent() async throws {
        server.route("/", .data(Data(count: 100), headers: ["Content-Encoding": "gzip"]))
        server.route("/304", .status(304, headers: ["Content-Length": "5", "ETag": "\"x\""]))
        server.route("/204", .status(204))
        let head = try await client.head("/").response()
        #expect(head.headers[.contentLength] == "100")
        #expect(try await head.body.collect(upTo: 0).isEmpty)
        #expect(try await client.get("304").response().body.isEmpty)
        #expect(try await client.get("204").data().isEmpty)
        #expect(server.counts.accepted == 1)
    }

    @Test("What libcurl cannot send is said before anything is sent")
    func unsupported() async throws {
        for call in [
            client.request(.head, "/", body: .text("x")), client.request(.connect, "/"),
        ] {
            let error = await #expect(throws: ClientError.self) { try await call.data() }
            #expect(error?.code == .unsupported)
        }
        #expect(server.requests.isEmpty)
    }

    @Test("GET may have content; a fragment and a scheme in capitals do no harm")
    func odd() async throws {
        server.fallback(.echo)
        #expect(try await client.request(.get, "/", body: .text("x")).json()["body"] == "x")
        let target: Target = "HTTP://127.0.0.1:\(server.port)/a/../?x#fragment"
        #expect(try await client.get(target).json()["target"] == "/?x")
    }

    @Test(
        "Redirects are not followed, whatever their Location",
        arguments: ["/x", "", "http://", "file:///etc/passwd"])
    func redirects(location: String) async throws {
        server.route("/", .status(302, headers: ["Location": location], body: Data("moved".utf8)))
        let response = try await client.get("/").response()
        #expect(response.status == 302)
        #expect(try await response.body.collect(upTo: 10) == Data("moved".utf8))
        #expect(server.requests.count == 1)
    }

    @Test("Cookies are not kept, and a challenge is a plain 401")
    func stateless() async throws {
        server.route(
            "/",
            .status(
                401, headers: ["WWW-Authenticate": "Basic realm=\"x\"", "Set-Cookie": "a=1"],
                body: Data("who?".utf8)))
        for _ in 0..<2 {
            let response = try await client.get("/").response()
            #expect(response.status == 401)
            #expect(try await response.body.collect(upTo: 10) == Data("who?".utf8))
        }
        #expect(server.requests.allSatisfy { !$0.headers.contains(.cookie) })
    }

    @Test("A refused connection sent nothing, and says so")
    func refused() async throws {
        server.stop()
        let error = await #expect(throws: ClientError.self) {
            try await client.post("/", body: .text("x")).data()
        }
        #expect(error?.code == .connection)
        #expect(error?.transfer?.isUnsent == true)
        #expect((error?.underlying as? CurlFailure)?.code == 7)
    }

    @Test("A connection that closes without an answer may have been heard")
    func closed() async throws {
        server.route("/", .close)
        let error = await #expect(throws: ClientError.self) { try await client.get("/").data() }
        #expect(error?.code == .connection)
        #expect(error?.transfer?.phase == .sending)
    }

    @Test("The timeline tells a new connection from a kept one")
    func timeline() async throws {
        server.route("/", .text("x"))
        let first = try await client.get("/").response()
        _ = try await first.body.collect(upTo: 10)
        #expect(first.timeline.isConnectionReused == false)
        #expect(first.timeline.peerAddress == "127.0.0.1")
        let sent = try #require(first.timeline.sent)
        let connected = try #require(first.timeline.connected)
        let byte = try #require(first.timeline.firstByte)
        let ready = try #require(first.timeline.ready)
        #expect(sent < connected && connected <= ready && ready <= byte)
        #expect(first.timeline.protocolVersion == "1.1")
        #expect(first.timeline.encodedBodyBytes == 1)
        let second = try await client.get("/").response()
        _ = try await second.body.collect(upTo: 10)
        #expect(second.timeline.isConnectionReused == true)
        #expect(second.timeline.secured == nil)
    }

    @Test("A log at level debug tells of the connection, of one that was not made too")
    func logOfTimes() async throws {
        server.route("/", .text("x"))
        let sink = MemoryLogSink()
        let client = Client(
            transport: try CurlTransport(),
            stack: [.log(to: sink, level: .debug, format: .json)])
        _ = try await client.get(server.target).data()
        let line = try JSONValue(parsing: Data(try #require(sink.lines.last).utf8))
        #expect(line["version"] == "1.1")
        #expect(line["peer"] == "127.0.0.1")
        #expect(line["reused"] == false)
        let first = try #require(line["times"]?["firstByte"]?.double)
        #expect(try #require(line["times"]?["connected"]?.double) <= first)
        #expect(first <= (line["elapsed"]?.double ?? 0))
        _ = try? await client.get("http://127.0.0.1:1/").data()
        let failed = try JSONValue(parsing: Data(try #require(sink.lines.last).utf8))
        #expect(failed["event"] == "failed")
        #expect(failed["reused"] == nil)
        #expect(failed["times"]?["firstByte"] == nil)
    }

    @Test("Two hundred calls at once are all answered, by no more connections than allowed")
    func concurrency() async throws {
        let fixture = try CurlFixture { $0.maxConnectionsPerHost = 8 }
        fixture.server.route("/", .echo)
        let client = fixture.client
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let echo = try await client.post("/", body: .text("\(number)")).json()
                    #expect(echo["body"]?.string == "\(number)")
                }
            }
            try await group.waitForAll()
        }
        #expect(fixture.server.counts.requests == 200)
        #expect(fixture.server.counts.accepted <= 8)
    }

    @Test("After a shutdown calls fail, and the connections are closed")
    func shutdown() async throws {
        server.route("/", .text("x"))
        let transport = try CurlTransport()
        let client = Client(baseURL: server.target, transport: transport, stack: [])
        #expect(try await client.get("/").string() == "x")
        await transport.shutdown()
        await transport.shutdown()
        await server.wait { $0.open == 0 }
        let error = await #expect(throws: ClientError.self) { try await client.get("/").string() }
        #expect(error?.code == .cancelled)
    }

    @Test("A body may outlive its client and its transport")
    func letGo() async throws {
        server.route("/", .bytes(3_000_000))
        func response() async throws -> Response {
            let client = Client(baseURL: server.target, transport: try CurlTransport(), stack: [])
            return try await client.get("/").response()
        }
        #expect(try await response().body.collect(upTo: 3_000_000).count == 3_000_000)
        await server.wait { $0.open == 0 }
    }
}
