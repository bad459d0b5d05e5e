// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

@Suite(
    "HTTP/3 only", .needs(CaddyServer.need, if: CaddyServer.isAvailable), .timeLimit(.minutes(5)))
struct CurlHTTP3Tests {
    @Test("Requests with and without content go by HTTP/3, and reach the server as they are")
    func messages() async throws {
        let server = try CaddyServer()
        server.upstream.route("/form", .status(201, headers: ["X-A": "b"], body: Data("made".utf8)))
        let client = try server.client(.only) { $0.meter = MetricsStore() }
        let page = try await client.get("page?q=1").response()
        #expect(page.status == 200 && page.head.version == "3")
        #expect(try await page.body.collect(upTo: 100) == Data("hi".utf8))
        #expect(server.upstream.requests(to: "/page").first?.target == "/page?q=1")
        let form = try await client.post("form", body: .text("content")).response()
        #expect(form.status == 201 && form.head.version == "3" && form.headers["x-a"] == "b")
        #expect(server.upstream.requests(to: "/form").first?.body == Data("content".utf8))
        #expect(form.timeline.isConnectionReused == true)
        let head = try await client.head("page").response()
        #expect(try await head.body.collect(upTo: 10).isEmpty)
        let transport = try #require(client.transport as? CurlTransport)
        try await until("the figures of one connection") {
            transport.liveFigures.contains { $0.value == "1 open, 0 active" }
        }
    }

    @Test("Large content goes both ways, and a slow reader makes the server wait")
    func largeContent() async throws {
        let size = Int64(Runs.size(24 << 20, all: 256 << 20))
        let server = try CaddyServer()
        server.upstream.route("/down", .bytes(size))
        let client = try server.client(.only)
        var count: Int64 = 0
        for try await chunk in try await client.get("down").response().body {
            count += Int64(chunk.count)
            if count % 7 == 0 { await Task.yield() }
        }
        #expect(count == size)
        let piece = Data(repeating: 0x61, count: 1 << 20)
        let chunks = AsyncStream { continuation in
            for _ in 0..<(size >> 20) { continuation.yield(piece) }
            continuation.finish()
        }
        #expect(
            try await client.post("up", body: .stream(length: size) { chunks }).response().status
                == 200)
        #expect(server.upstream.requests(to: "/up").first?.bodyBytes == size)
    }

    @Test("200 calls at once share few connections")
    func manyCalls() async throws {
        let server = try CaddyServer()
        let client = try server.client(.only) { $0.maxStreamsPerConnection = 200 }
        let fresh = try await withThrowingTaskGroup(of: Bool.self) { group in
            for index in 0..<200 {
                group.addTask {
                    let response = try await client.get("item/\(index)").response()
                    #expect(response.head.version == "3")
                    #expect(try await response.body.collect(upTo: 10).count == 2)
                    return response.timeline.isConnectionReused == false
                }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        // Caddy permits 100 streams at a time on each.
        #expect((1...4).contains(fresh))
        #expect(Set(server.upstream.requests.map(\.path)).count == 200)
    }

    @Test("A call that is given up leaves the others of its connection alone")
    func cancel() async throws {
        let server = try CaddyServer()
        server.upstream.route("/endless", .endless())
        let client = try server.client(.only)
        let body = try await client.get("endless").response().body
        for try await _ in body { break }
        body.cancel()
        // libcurl 8.21 and later may tell the server only together with the next request.
        #expect(try await client.get("a").response().timeline.isConnectionReused == true)
        try await server.upstream.wait { $0.abandoned == 1 }
    }

    @Test("An answer that ends early is an error, and so is a server that goes away")
    func failures() async throws {
        let server = try CaddyServer()
        server.upstream.route("/short", .short(declared: 100, sent: Data("short".utf8)))
        server.upstream.route("/silent", .silence)
        let client = try server.client(.only) { $0.connectTimeout = .seconds(2) }
        await expectError(.incomplete) {
            try await client.get("short").response().body.collect(upTo: 1000)
        }
        async let silent = code(of: client.get("silent").deadline(.seconds(2)))
        try await server.upstream.waitForRequests(2)
        server.kill()
        let end = await silent
        #expect([.connection, .deadlineExceeded].contains(end), "\(end as Any)")
        let error = await #expect(throws: ClientError.self) {
            _ = try await client.get("a").response()
        }
        #expect([.connection, .connectTimeout].contains(error?.code), "\(error as Any)")
    }

    @Test("Where nothing answers by UDP, there is no connection")
    func noAnswer() async throws {
        let server = try CaddyServer(.upTo2)
        let client = try server.client(.only) { $0.connectTimeout = .milliseconds(300) }
        let error = await #expect(throws: ClientError.self) {
            _ = try await client.get("a").response()
        }
        #expect(error?.code == .connectTimeout && error?.transfer?.isUnsent == true)
        #expect(server.upstream.requests.isEmpty)
    }

    @Test("What HTTP/3 does not carry here is refused")
    func refusals() async throws {
        let transport = try CurlTransport(http3: .only)
        #expect(transport.capabilities.isDisjoint(with: [.requestTrailers, .upgrades]))
        let client = Client(transport: transport, stack: [])
        await expectError(.unsupported) {
            try await client.get("http://127.0.0.1/").response()
        }
        var request = Request(.get, "https://localhost/")
        request.options.upgrade = "echo"
        await expectError(.unsupported) { try await transport.send(request, context: Context()) }
        request.options.upgrade = nil
        await expectError(.unsupported) {
            try await transport.prewarm(Request(.head, "http://localhost/"), connections: 1)
        }
        request.options.connectTarget = .unixSocket("/nowhere")
        await expectError(.unsupported) {
            try await client.request(request).response()
        }
    }

    @Test("A request's own endpoint and its address rule hold")
    func routes() async throws {
        let server = try CaddyServer()
        let client = try server.client(.only)
        var request = Request(.get, "https://localhost:1/a")
        request.options.connectTarget = .host("127.0.0.1", port: server.port)
        let response = try await client.request(request).response()
        #expect(response.head.version == "3")
        request = Request(.get, Target("https://localhost:\(server.port)/a"))
        request.options.addressRule = AddressRule { _ in false }
        await expectError(.urlPolicy) {
            try await client.request(request).response()
        }
    }
}

@Suite(
    "TLS of HTTP/3", .needs(CaddyServer.need, if: CaddyServer.isAvailable), .timeLimit(.minutes(5)))
struct CurlHTTP3TrustTests {
    private let files: TLSFiles

    init() throws { files = try #require(TLSFiles.shared) }

    private func outcome(
        _ server: CaddyServer, _ configure: (inout CurlTransport.Trust) throws -> Void
    ) async throws -> ClientError? {
        let client = try server.client(.only) { try configure(&$0.trust) }
        do {
            #expect(try await client.get("a").response().head.version == "3")
            return nil
        } catch let error as ClientError {
            return error
        }
    }

    @Test("Authorities come from a file, and others are not believed")
    func authorities() async throws {
        let server = try CaddyServer()
        #expect(try await outcome(server) { _ in } == nil)
        #expect(try await outcome(server) { $0.authorities = .system }?.code == .tls)
        #expect(try await outcome(server) { $0.authorities = .file(files.stranger) }?.code == .tls)
        // libcurl 8.14 with GnuTLS reads no authorities as bytes, but reads the file in memory.
        func authorities(in file: String) throws -> CurlTransport.Trust.Authorities {
            .data(try Data(contentsOf: URL(filePath: file)))
        }
        let own = try authorities(in: files.authority)
        let other = try authorities(in: files.stranger)
        #expect(try await outcome(server) { $0.authorities = own } == nil)
        #expect(try await outcome(server) { $0.authorities = other }?.code == .tls)
        #expect(
            try await outcome(server) {
                $0.authorities = .system
                $0.insecurelyAcceptsAnyCertificate = true
            } == nil)
    }

    @Test("A server that refuses the handshake is not asked without end")
    func refusedHandshake() async throws {
        let server = try CaddyServer()
        let client = try server.client(.only) {
            $0.overrides = [
                .init(host: "other.example", port: server.port, addresses: ["127.0.0.1"])
            ]
        }
        // Otherwise libcurl would begin handshakes until the connect timeout.
        await expectError(.connection) {
            try await client.get("https://other.example:\(server.port)/").response()
        }
    }

    @Test("A certificate for another name is refused")
    func names() async throws {
        let server = try CaddyServer()
        let client = try server.client(.only)
        await expectError(.tls) {
            try await client.get("https://127.0.0.1:\(server.port)/").response()
        }
    }

    @Test("A pin holds")
    func pins() async throws {
        let server = try CaddyServer()
        let own = try CurlTransport.PublicKeyPin("sha256/" + files.pin)
        #expect(try await outcome(server) { $0.pins = [own] } == nil)
        let other = try CurlTransport.PublicKeyPin(
            "sha256/" + Data(repeating: 1, count: 32).base64EncodedString())
        #expect(try await outcome(server) { $0.pins = [other] }?.code == .tls)
        #expect(try await outcome(server) { $0.pins = [other, own] } == nil)
    }

    @Test("A client's certificate is sent, its key with a password too")
    func clientCertificates() async throws {
        let server = try CaddyServer(clientAuthority: files.authority)
        #expect(try await outcome(server) { _ in } != nil)
        #expect(
            try await outcome(server) {
                $0.clientCertificate = .init(certificate: files.certificate, key: files.key)
            } == nil)
        #expect(
            try await outcome(server) {
                $0.clientCertificate = .init(
                    certificate: files.certificate, key: files.lockedKey, password: "S3CRET")
            } == nil)
        #expect(
            try await outcome(server) {
                $0.clientCertificate = .init(certificate: files.stranger, key: files.strangerKey)
            } != nil)
    }
}
