import Foundation
import Testing
import Turnpike
import TurnpikeTesting

/// The default transport over real sockets, on loopback.
@Suite("URLSessionTransport")
struct URLSessionTests {
    private let server: TestServer
    private let client: Client

    init() throws {
        server = try TestServer()
        client = Client(baseURL: server.target, stack: [])
    }

    @Test("A request comes as it was made, and its answer as it was sent")
    func roundTrip() async throws {
        server.route("/echo", .echo)
        let call = client.post(
            "echo", body: .json(["a": 1]), query: ["q": "a b"],
            headers: ["X-Twice": "1", "Accept-Language": "de"])
        let echo = try await call.json()
        #expect(echo["method"] == "POST")
        #expect(echo["target"] == "/echo?q=a%20b")
        #expect(echo["body"] == #"{"a":1}"#)
        let request = try #require(server.requests.first)
        #expect(request.headers[.contentType] == "application/json")
        #expect(request.headers[.contentLength] == "7")
        #expect(request.headers[.host] == "127.0.0.1:\(server.port)")
        #expect(request.headers[.acceptLanguage] == "de")
        #expect(!request.headers.contains(.transferEncoding))
    }

    @Test("Nothing is sent that was not asked for")
    func defaultFields() async throws {
        server.route("/", .text("x"))
        try await client.get("/").empty()
        let names = try #require(server.requests.first).headers.map(\.name.rawValue).sorted()
        #expect(names == ["Accept", "Accept-Encoding", "Connection", "Host", "User-Agent"])
        #expect(server.requests.first?.headers[.userAgent] == "turnpike")
    }

    @Test("Several lines of a name, and names that differ in case, go out as one field")
    func mergedFields() async throws {
        server.route("/", .text("x"))
        var call = client.get("/")
        for (name, value) in [("X-A", "1"), ("x-a", "2"), ("Cookie", "a=1"), ("cookie", "b=2")] {
            call.request.headers.append(HTTPHeaders.Name(name), value)
        }
        try await call.empty()
        #expect(server.requests.first?.headers["X-A"] == "1, 2")
        #expect(server.requests.first?.headers[.cookie] == "a=1; b=2")
    }

    @Test(
        "Bodies of every kind are framed by their exact length",
        arguments: ["data", "file", "stream", "large stream", "none"])
    func uploads(kind: String) async throws {
        server.route("/echo", .echo)
        let large = Data((0..<700_000).map { UInt8(truncatingIfNeeded: $0 / 3) })
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try large.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let body: RequestBody =
            switch kind {
            case "data": .data(large)
            case "file": .file(file, range: 10..<600_000)
            case "stream":
                .stream {
                    AsyncStream<Data> {
                        $0.yield(Data("ab".utf8)); $0.yield(Data("c".utf8)); $0.finish()
                    }
                }
            case "large stream":
                .stream {
                    AsyncStream<Data> { stream in
                        for start in stride(from: 0, to: large.count, by: 50_000) {
                            stream.yield(large[start..<start + 50_000])
                        }
                        stream.finish()
                    }
                }
            default: .empty
            }
        try await client.put("echo", body: body).empty()
        let expected =
            switch kind {
            case "data", "large stream": large
            case "file": large[10..<600_000]
            case "stream": Data("abc".utf8)
            default: Data()
            }
        let request = try #require(server.requests.first)
        #expect(request.body == expected)
        #expect(request.headers[.contentLength] == String(expected.count))
        #expect(request.headers.values(of: .contentLength).count == 1)
        #expect(!request.headers.contains(.transferEncoding))
    }

    @Test("A stream that fails, or breaks its word, sends nothing that looks whole")
    func failingUpload() async throws {
        struct Broken: Error {}
        server.route("/", .text("x"))
        let body = RequestBody.stream {
            AsyncThrowingStream<Data, any Error> {
                $0.yield(Data("ab".utf8)); $0.finish(throwing: Broken())
            }
        }
        let error = await #expect(throws: ClientError.self) {
            try await client.post("/", body: body).empty()
        }
        #expect(error?.code == .upload)
        #expect(error?.underlying is Broken)
        #expect(server.requests.isEmpty)
    }

    @Test("A file that shrinks while it is sent ends the call")
    func shrinkingFile() async throws {
        let hold = TestHold()
        server.route("/", .text("x").reading(heldBy: hold))
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try Data(count: 30_000_000).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let call = Task {
            try await client.post("/", body: .file(file), headers: ["Expect": "100-continue"])
                .empty()
        }
        await server.waitForRequests(1)
        try Data(count: 1000).write(to: file, options: [])
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: 1000)
        hold.open()
        let error = await #expect(throws: ClientError.self) { try await call.value }
        #expect(error?.code == .upload)
    }

    @Test("A body comes in pieces as it is read, and chunked framing leaves no trace")
    func streaming() async throws {
        let hold = TestHold()
        server.route("/", .chunked([Data("ab".utf8), Data("cd".utf8)]))
        let response = try await client.get("/").response()
        #expect(response.headers[.contentLength] == nil)
        #expect(response.body.length == nil)
        #expect(try await response.body.collect(upTo: 10) == Data("abcd".utf8))
        server.route("/held", .handler { _ in .chunked([Data("x".utf8)]).held(by: hold) })
        hold.open()
        #expect(try await client.get("held").data() == Data("x".utf8))
    }

    @Test("Interim responses are passed over")
    func interim() async throws {
        server.route(
            "/",
            .text("final").preceded(
                by: [103, 102, 103, 100, 103], headers: ["X-Early": "1", "Set-Cookie": "e=1"]))
        let response = try await client.get("/").response()
        #expect(response.status == 200)
        #expect(response.headers["X-Early"] == nil)
        #expect(try await response.body.collect(upTo: 10) == Data("final".utf8))
    }

    @Test("A Basic challenge is a plain 401 with its content")
    func basicChallenge() async throws {
        server.route(
            "/",
            .status(
                401, headers: ["WWW-Authenticate": "Basic realm=\"x\""], body: Data("who?".utf8)))
        let response = try await client.get("/").response()
        #expect(response.status == 401)
        #expect(response.headers[.wwwAuthenticate]?.hasPrefix("Basic") == true)
        #expect(try await response.body.collect(upTo: 10) == Data("who?".utf8))
        let withCredential = try await client.get("/", headers: ["Authorization": "Basic eDp5"])
            .response()
        #expect(withCredential.status == 401)
        server.route("/ok", .text("x"))
        #expect(try await client.get("ok").string() == "x")
        #expect(server.requests.count == 3)
    }

    @Test(
        "Redirects are not followed, whatever their Location",
        arguments: ["/x", "", "http://", "file:///etc/passwd"])
    func redirects(location: String) async throws {
        server.route("/", .status(302, headers: ["Location": location], body: Data("moved".utf8)))
        server.route("/none", .status(302, body: Data("moved".utf8)))
        #expect(try await client.get("/").response().status == 302)
        #expect(try await client.get("none").response().status == 302)
        #expect(server.requests.count == 2)
    }

    @Test("A 307 takes the whole body along", arguments: ["data", "stream"])
    func redirectWithBody(kind: String) async throws {
        server.route("/a", .redirect(307, to: "/b"))
        server.route("/b", .echo)
        let body: RequestBody =
            kind == "data"
            ? .text("hello")
            : .stream(replayable: true) {
                AsyncStream<Data> {
                    $0.yield(Data("hello".utf8)); $0.finish()
                }
            }
        let echo = try await Client(baseURL: server.target, stack: [.redirect()]).post(
            "a", body: body
        ).json()
        #expect(echo["body"] == "hello")
        #expect(echo["method"] == "POST")
    }

    @Test("A body that ends early is never success", arguments: ["short", "reset", "chunks"])
    func truncation(how: String) async throws {
        server.route("/short", .short(declared: 100, sent: Data("abc".utf8)))
        server.route("/reset", .reset(after: Data("abc".utf8), declared: 100))
        server.route("/chunks", .chunked([Data("abc".utf8)], endsWell: false))
        let error = await #expect(throws: ClientError.self) {
            try await client.get(Target(how)).data()
        }
        #expect(error?.code == .incomplete || error?.code == .protocol)
        #expect(error?.transfer?.phase == .receiving)
    }

    @Test(
        "A connection that closes without an answer is an error, and is retried where that is safe")
    func closedConnection() async throws {
        server.route("/", .close)
        let error = await #expect(throws: ClientError.self) { try await client.get("/").data() }
        #expect(error?.code == .connection)
        #expect(error?.transfer?.phase == .sending)
        server.route("/flaky", .close, .text("x"))
        let retrying = Client(
            baseURL: server.target, stack: [.retry(backoff: Backoff(base: .zero))])
        #expect(try await retrying.get("flaky").string() == "x")
        server.route("/post", .close, .text("x"))
        await #expect(throws: ClientError.self) {
            try await retrying.post("post", body: .text("x")).string()
        }
    }

    @Test("A refused connection sent nothing, and says so")
    func refused() async throws {
        let port = server.port
        server.stop()
        let error = await #expect(throws: ClientError.self) {
            try await client.post("/", body: .text("x")).data()
        }
        #expect(error?.code == .connection)
        #expect(error?.transfer?.isUnsent == true, "port \(port)")
    }

    @Test(
        "A connection that died while it was idle costs no body",
        arguments: ["data", "stream", "file"])
    func keepAliveRace(kind: String) async throws {
        server.route("/first", .text("x").thenClose())
        server.route("/second", .echo)
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try Data("hello".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        for _ in 0..<20 {
            let body: RequestBody =
                switch kind {
                case "data": .text("hello")
                case "file": .file(file)
                default:
                    .stream {
                        AsyncStream<Data> {
                            $0.yield(Data("hello".utf8)); $0.finish()
                        }
                    }
                }
            #expect(try await client.get("first").string() == "x")
            let call = client.put("second", body: body)
            #expect(try await call.deadline(.seconds(10)).json()["body"] == "hello")
        }
    }

    @Test(
        "A POST that met the end of an idle connection is sent again only if that is safe",
        arguments: [false, true])
    func keepAlivePost(isRetryable: Bool) async throws {
        server.route("/first", .text("x"))
        server.route("/second", .close, .echo)
        #expect(try await client.get("first").string() == "x")
        var call = client.post("second", body: .text("hello"))
        if isRetryable { call = call.retryable() }
        let result: Result<JSONValue, any Error>
        do { result = .success(try await call.json()) } catch { result = .failure(error) }
        // A second head goes out behind the refusal, but no content follows it.
        let whole = server.requests.filter { $0.body == Data("hello".utf8) }
        if isRetryable {
            #expect(try result.get()["body"] == "hello")
            #expect(whole.count == 2)
        } else {
            let error = #expect(throws: ClientError.self) { try result.get() }
            #expect(error?.code == .connection)
            #expect(error?.transfer?.isUnsent == false)
            #expect(error?.description.contains("after the request was written") == true)
            #expect(whole.count == 1)
        }
    }

    @Test("Equal lengths in several lines are one, different ones are refused")
    func lengths() async throws {
        server.route(
            "/same",
            .raw(Data("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok".utf8)))
        server.route(
            "/two",
            .raw(Data("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nokk".utf8)))
        #expect(try await client.get("same").string() == "ok")
        let error = await #expect(throws: ClientError.self) { try await client.get("two").string() }
        #expect(error?.code == .protocol)
    }

    @Test(
        "What is no HTTP is an error of the protocol",
        arguments: [
            "SSH-2.0-OpenSSH_9\r\n", "HTTP/1.1 99 x\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n",
            "garbage\r\n\r\n",
        ])
    func nonsense(bytes: String) async throws {
        server.route("/", .raw(Data(bytes.utf8)))
        let error = await #expect(throws: ClientError.self) { try await client.get("/").data() }
        #expect(error?.code == .protocol)
    }

    @Test("Set-Cookie lines come apart, dates intact")
    func setCookie() async throws {
        server.route(
            "/",
            .text(
                "x",
                headers: HTTPHeaders([
                    ("Set-Cookie", "a=1; Expires=Wed, 21 Oct 2065 07:28:00 GMT; Path=/"),
                    ("Set-Cookie", "b=2"),
                ])))
        let response = try await client.get("/").response()
        #expect(
            response.headers.values(of: .setCookie) == [
                "a=1; Expires=Wed, 21 Oct 2065 07:28:00 GMT; Path=/", "b=2",
            ])
    }

    @Test("HEAD, 204 and 304 have no content, whatever they announce")
    func noContent() async throws {
        server.route("/", .data(Data(count: 100)))
        server.route("/304", .status(304, headers: ["Content-Length": "5", "ETag": "\"x\""]))
        server.route("/204", .status(204))
        let head = try await client.head("/").response()
        #expect(head.headers[.contentLength] == "100")
        #expect(try await head.body.collect(upTo: 0).isEmpty)
        #expect(try await client.get("304").response().body.isEmpty)
        #expect(try await client.get("204").data().isEmpty)
    }

    @Test("What URLSession cannot do is said before anything is sent")
    func unsupported() async throws {
        for call in [
            client.request(.get, "/", body: .text("x")),
            client.request(.head, "/", body: .text("x")), client.request(.connect, "/"),
            client.get("http://[::1]:\(server.port)/"),
            client.options(.server),
            client.post("/", body: .stream(live: true) { AsyncStream<Data> { $0.finish() } }),
        ] {
            let error = await #expect(throws: ClientError.self) { try await call.data() }
            #expect(error?.code == .unsupported)
        }
        #expect(server.requests.isEmpty)
        server.route("/", .text("x"))
        let response = try await client.get("HTTP://127.0.0.1:\(server.port)/#fragment").response()
        #expect(try await response.body.collect(upTo: 9) == Data("x".utf8))
        #expect(response.url.fragment() == "fragment")
        #expect(server.requests.first?.target == "/")
    }

    @Test("Two hundred calls at once are all answered")
    func concurrency() async throws {
        server.route("/", .echo)
        let client = client
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let echo = try await client.post("/", body: .text("\(number)")).json()
                    #expect(echo["body"]?.string == "\(number)")
                }
            }
            try await group.waitForAll()
        }
        #expect(server.counts.requests == 200)
    }

    @Test("A reader slower than the server gets all bytes in order")
    func slowReader() async throws {
        let content = Data((0..<6_000_000).map { UInt8(truncatingIfNeeded: $0 / 251) })
        server.route("/", .data(content))
        let transport = URLSessionTransport(
            configuration: {
                var configuration = URLSessionTransport.Configuration()
                configuration.maxBufferedBytes = 100_000
                return configuration
            }())
        let response = try await Client(baseURL: server.target, transport: transport, stack: [])
            .get("/").response()
        // The server is done before the reader begins: the rest waits in a file.
        server.route("/after", .text("x"))
        #expect(try await client.get("after").string() == "x")
        var got = Data()
        for try await chunk in response.body { got.append(chunk) }
        #expect(got == content)
    }

    @Test("After a shutdown calls fail instead of trapping")
    func shutdown() async throws {
        server.route("/", .text("x"))
        let transport = URLSessionTransport()
        let first = Client(baseURL: server.target, transport: transport, stack: [])
        #expect(try await first.get("/").string() == "x")
        await first.shutdown()
        let second = Client(baseURL: server.target, transport: transport, stack: [])
        let error = await #expect(throws: ClientError.self) { try await second.get("/").string() }
        #expect(error?.code == .cancelled)
    }
}
