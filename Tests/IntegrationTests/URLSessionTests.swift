// SPDX-License-Identifier: Apache-2.0

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

    @Test("Several lines of a name, and names that differ in case, go out as one field")
    func mergedFields() async throws {
        server.route("/", .ok(text: "x"))
        var call = client.get("/")
        for (name, value) in [("X-A", "1"), ("x-a", "2"), ("Cookie", "a=1"), ("cookie", "b=2")] {
            call.request.headers.append(HTTPHeaders.Name(name), value)
        }
        try await call.empty()
        #expect(server.requests.first?.headers["X-A"] == "1, 2")
        #expect(server.requests.first?.headers[.cookie] == "a=1; b=2")
    }

    @Test("A file that shrinks while it is sent ends the call")
    func shrinkingFile() async throws {
        let hold = TestHold()
        server.route("/", .ok(text: "x").reading(heldBy: hold))
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try Data(count: 30_000_000).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let call = Task {
            try await client.post("/", body: .file(file), headers: ["Expect": "100-continue"])
                .empty()
        }
        try await server.waitForRequests(1)
        try Data(count: 1000).write(to: file, options: [])
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: 1000)
        hold.open()
        let error = await #expect(throws: ClientError.self) { try await call.value }
        #expect(error?.code == .upload)
    }

    @Test(
        "A POST that met the end of an idle connection is sent again only if that is safe",
        arguments: [false, true])
    func keepAlivePost(isRetryable: Bool) async throws {
        server.route("/first", .ok(text: "x"))
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

    @Test("A second send that libcurl makes by itself is counted where it is seen")
    func countedResend() async throws {
        server.route("/first", .ok(text: "x"))
        server.route("/second", .close, .echo)
        #expect(try await client.get("first").string() == "x")
        let response = try await client.put("second", body: .text("hello")).response()
        #expect(response.attempts == 2)
        #expect(try await !response.body.collect(upTo: 10_000).isEmpty)
    }

    #if os(Linux)
    // A coding that is refused here, or a failure, is better than what the page of the limits says: then
    // the page is to be changed.
    @Test("Coded content that ends too early passes for whole", arguments: ["br", "gzip", "zstd"])
    func cutContent(coding: String) async throws {
        let coded: [String: String] = [
            "br": """
            G+cA+AXcYNjXkg/R0gS5EGIo+HyuD8usF71QDtNNqygn+UHGU8ePuV18wjFsNZpiNukL6p/KI9toeYv74bJxF6tEDuaeiaPL1Cy54obmq7hJ\
            vMH60R9KM720RHnIbzKLTl7B7eM7HGZr0YjZoa/pKJUA
            """,
            "gzip": """
            H4sIAAAAAAAAAwXByQEAMAjDsL+nKUcI7L9YpcfFsbVYZjzohKLpKkpJOoh7xDtyuTY7g1f4NZOFOukJah95R8YSZTScxV6zUbiSUSA/eo9+\
            S6XJHmLENsVlsh14HuNDtyhM11AS6SauiEgqOD12Du/iZyYHtehpaot6SWbwAfBv9yToAAAA
            """,
            "zstd": """
            KLUv/STofQMAgs4aCbDrlBRNHzq5DofIAvPYTEWTeEld6Gb9ygbeMUvEczFVJucausHt+LWG6kG2yD2TzYqL5MpsQJ/RUB6sZfqETWezd/FObCHfyWBz\
            FC3ER2qCTutVduk2+SCGi6OycJ6hKTiPV+uy29gXNwQAzYEaXQ==
            """,
        ]
        let whole = (0..<60).map { "\($0 * 7919 % 1000)\n" }.joined()
        let data = try #require(Data(base64Encoded: coded[coding] ?? ""))
        server.route("/", .ok(data: data, headers: ["Content-Encoding": coding]))
        try #require(try await client.get("/").string() == whole)
        server.route(
            "/", .ok(data: data.prefix(data.count / 2), headers: ["Content-Encoding": coding]))
        let part = String(decoding: try await client.get("/").data(), as: UTF8.self)
        #expect(part.count < whole.count && whole.hasPrefix(part))
        #expect(part.isEmpty == (coding == "zstd"))
    }
    #endif

    @Test(
        "A redirect to a head that begins with a blank ends no process, for each hop has a handle")
    func blankLedHead() async throws {
        let client = Client(baseURL: server.target, stack: [.redirect()])
        let fields = (0..<20).map { "X-Field-\($0): \(String(repeating: "a", count: 40))\r\n" }
            .joined()
        let redirect = "HTTP/1.1 302 Found\r\n\(fields)Location: /x\r\nContent-Length: 0\r\n\r\n"
        server.route("/", .raw(Data(redirect.utf8), closes: false))
        let blank = String(repeating: "y", count: 200)
        server.route(
            "/x", .raw(Data("HTTP/1.1 200 OK\r\n X: \(blank)\r\nContent-Length: 0\r\n\r\n".utf8)))
        for _ in 0..<20 { _ = try? await client.get("/").empty() }
        #expect(server.requests(to: "/x").count >= 20)
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
        server.route("/", .ok(text: "x"))
        let response = try await client.get("HTTP://127.0.0.1:\(server.port)/#fragment").response()
        #expect(try await response.body.collect(upTo: 9) == Data("x".utf8))
        #expect(response.url.fragment() == "fragment")
        #expect(server.requests.first?.target == "/")
    }

    @Test("A reader slower than the server gets all bytes in order")
    func slowReader() async throws {
        let content = Data((0..<6_000_000).map { UInt8(truncatingIfNeeded: $0 / 251) })
        server.route("/", .ok(data: content))
        let transport = URLSessionTransport(
            configuration: {
                var configuration = URLSessionTransport.Configuration()
                configuration.maxBufferedBytes = 100_000
                return configuration
            }())
        let response = try await Client(baseURL: server.target, transport: transport, stack: [])
            .get("/").response()
        // The server is done before the reader begins: the rest waits in a file.
        server.route("/after", .ok(text: "x"))
        #expect(try await client.get("after").string() == "x")
        var got = Data()
        for try await chunk in response.body { got.append(chunk) }
        #expect(got == content)
    }
}
