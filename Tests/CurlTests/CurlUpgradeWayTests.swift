// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

/// The ways that an upgraded connection goes, and the gates that see its handshake.
@Suite("Ways of upgraded connections over libcurl", .timeLimit(.minutes(2)))
struct CurlUpgradeWayTests {
    private let server: TestServer

    init() throws {
        server = try TestServer()
        server.route("/", .echoing(first: "early"))
    }

    private func client(
        _ baseURL: String = "http://origin.invalid:81/", stack: Stack = [],
        _ configure: (inout CurlTransport.Configuration) -> Void = { _ in }
    ) throws -> Client {
        var configuration = CurlTransport.Configuration()
        configure(&configuration)
        return Client(
            baseURL: Target(baseURL), transport: try CurlTransport(configuration: configuration),
            stack: stack)
    }

    private func expectEcho(_ connection: UpgradedConnection) async throws {
        #expect(try await connection.read(upTo: 100) == Data("early".utf8))
        #expect(try await connection.echoes(String(repeating: "0123456789", count: 1000)))
    }

    @Test(
        "Through a proxy it goes by a tunnel to the origin",
        arguments: [CurlTransport.Proxy.Scheme.http, .socks5h])
    func proxied(scheme: CurlTransport.Proxy.Scheme) async throws {
        let proxy = try ProxyServer(to: server.port)
        defer { proxy.stop() }
        let client = try client {
            $0.proxy = .through(.init(scheme, host: "127.0.0.1", port: proxy.port))
        }
        try await expectEcho(try await client.upgraded())
        #expect(proxy.asked.map(\.host) == ["origin.invalid:81"])
        #expect(server.requests.first?.headers[.host] == "origin.invalid:81")
    }

    @Test("A proxy that refuses is an error that says so")
    func refusingProxy() async throws {
        let proxy = try ProxyServer(to: server.port, socksReply: 2)
        defer { proxy.stop() }
        let client = try client {
            $0.proxy = .through(.init(.socks5h, host: "127.0.0.1", port: proxy.port))
        }
        let error = await #expect(throws: ClientError.self) { try await client.upgraded() }
        #expect(error?.code == .connection && error?.proxyStatus == 403)
        #expect(error?.transfer?.isUnsent == true)
    }

    @Test("It goes to a connect target, and the request names the origin")
    func target() async throws {
        var call = try client("http://logical.invalid/").upgrading()
        call.request.options.connectTarget = .host("127.0.0.1", port: server.port)
        let connection = try #require(try await call.response().upgradedConnection)
        try await expectEcho(connection)
        #expect(server.requests.first?.headers[.host] == "logical.invalid")
    }

    @Test("It goes to a Unix socket", arguments: [true, false])
    func unixSocket(isTarget: Bool) async throws {
        let head =
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"
        let server = try UnixServer(parts: [head + "early"])
        defer { server.stop() }
        var call = try client { if !isTarget { $0.unixSocket = server.path } }.upgrading()
        if isTarget { call.request.options.connectTarget = .unixSocket(server.path) }
        let connection = try #require(try await call.response().upgradedConnection)
        #expect(connection.protocolName == "echo")
        #expect(try await connection.read(upTo: 100) == Data("early".utf8))
        #expect(try await connection.read(upTo: 100) == nil)
    }

    @Test(
        "Over TLS it goes by HTTP/1.1, also through a proxy, and ends both sides at once",
        .needs("openssl and python3", if: TLSRelay.isThere), arguments: [false, true])
    func secure(isProxied: Bool) async throws {
        let files = try #require(TLSFiles.shared)
        let relay = try TLSRelay(files, to: server.port)
        let proxy = try ProxyServer(to: relay.port)
        defer { proxy.stop() }
        let client = try client("https://localhost:\(relay.port)/") {
            $0.trust.authorities = .file(files.authority)
            $0.trust.pins = (try? [CurlTransport.PublicKeyPin("sha256/" + files.pin)]) ?? []
            if isProxied { $0.proxy = .through(.init(host: "127.0.0.1", port: proxy.port)) }
        }
        let response = try await client.upgrading().response()
        #expect(response.timeline.secured != nil)
        let connection = try #require(response.upgradedConnection)
        try await expectEcho(connection)
        // More than all buffers, so that it waits both to send and to receive.
        let sent = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        async let writing: Void = connection.write(sent)
        var got = Data()
        while got.count < sent.count, let bytes = try await connection.read(upTo: 50_000) {
            got += bytes
        }
        try await writing
        #expect(got == sent)
        try await connection.finishWriting()
        try await server.wait { $0.open == 0 }
        await expectError(.connection) { try await connection.write(Data([1])) }
        #expect(relay.agreedProtocol == "http/1.1")
        #expect(proxy.asked.map(\.host) == (isProxied ? ["localhost:\(relay.port)"] : []))
    }

    @Test(
        "A certificate that is not trusted, or has another key than the pinned one, is an error of TLS",
        .needs("openssl and python3", if: TLSRelay.isThere), arguments: [false, true])
    func distrusted(isPinned: Bool) async throws {
        let files = try #require(TLSFiles.shared)
        let relay = try TLSRelay(files, to: server.port)
        let client = try client("https://localhost:\(relay.port)/") {
            guard isPinned else { return }
            let pin = Data(repeating: 1, count: 32).base64EncodedString()
            $0.trust.authorities = .file(files.authority)
            $0.trust.pins = (try? [CurlTransport.PublicKeyPin("sha256/" + pin)]) ?? []
        }
        let error = await #expect(throws: ClientError.self) { try await client.upgraded() }
        #expect(error?.code == .tls && error?.transfer?.isUnsent == true)
        #expect(server.counts.requests == 0)
    }

    // MARK: The handshake is a call

    @Test("A deadline ends the handshake, and its connection")
    func deadline() async throws {
        server.route("/silent", .silence)
        let clock = ManualClock()
        let client = Client(
            baseURL: server.target, transport: try CurlTransport(),
            stack: [.deadline(.seconds(5))], serializers: SerializerTable(), timeSource: clock)
        let call = Task { try await client.upgraded("/silent") }
        try await server.waitForRequests(1)
        clock.advance(by: .seconds(5))
        await expectError(.deadlineExceeded) { try await call.value }
        try await server.wait { $0.open == 0 }
        // It is a limit for the handshake alone.
        let connection = try await client.upgraded()
        clock.advance(by: .seconds(50))
        try await expectEcho(connection)
    }

    @Test("A 302 is an ordinary answer, which the redirect gate follows")
    func redirected() async throws {
        server.route("/old", .redirect(302, to: "/"))
        let plain = try client("\(server.url)")
        let answer = try await plain.upgrading("/old").response()
        #expect(answer.status == 302 && answer.upgradedConnection == nil)
        #expect(try await answer.body.collect(upTo: 100) == Data("moved".utf8))
        let following = try client("\(server.url)", stack: [.redirect()])
        try await expectEcho(try await following.upgraded("/old"))
    }

    @Test("A grace lets it come to its end, and then it is closed")
    func grace() async throws {
        let client = try client("\(server.url)")
        server.route("/plain", .ok(text: "x"))
        let connection = try await client.upgraded()
        let end = Task { await client.shutdown(grace: .seconds(60)) }
        while (try? await client.get("/plain").string()) != nil { await Task.yield() }
        try await expectEcho(connection)
        connection.close()
        await end.value
        try await server.wait { $0.open == 0 }
        await expectError(.cancelled) { try await client.upgraded() }
    }
}

/// Takes TLS off what comes, and offers HTTP/2 to those who know it.
private final class TLSRelay {
    let port: Int
    private let process: ChildProcess

    static let isThere = TLSFiles.shared != nil && output(of: "python3", "-c", "import ssl") != nil

    private static let program = """
        import select, socket, ssl, sys, threading
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
        context.set_alpn_protocols(["h2", "http/1.1"])
        def serve(client):
            try:
                client = context.wrap_socket(client, server_side=True)
                print(client.selected_alpn_protocol(), flush=True)
                with client, socket.create_connection(("127.0.0.1", int(sys.argv[3]))) as server:
                    while True:
                        ready = [client] if client.pending() else \\
                            select.select([client, server], [], [])[0]
                        for source in ready:
                            data = source.recv(65536)
                            if not data: return
                            (server if source is client else client).sendall(data)
            except OSError:
                client.close()
        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)
        while True:
            threading.Thread(target=serve, args=[listener.accept()[0]], daemon=True).start()
        """

    init(_ files: TLSFiles, to port: Int) throws {
        process = try ChildProcess(
            "python3", ["-c", Self.program, files.certificate, files.key, "\(port)"],
            output: .pipe, errors: .null)
        self.port = try #require(process.readLine().flatMap { Int($0) })
    }

    deinit {
        process.kill()
        process.wait()
    }

    /// The protocol of the next connection that was made (RFC 7301).
    var agreedProtocol: String? { process.readLine() }
}
