// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

@Suite("Connect targets of CurlTransport")
struct CurlConnectTargetTests {
    // libcurl gives a request the response of another otherwise; see `request.c`.
    @Test("Endpoints share no connection of HTTP/2 where libcurl mixes them up")
    func http2() throws {
        let library = try CurlLibrary.load()
        let options = try CurlOptions(CurlTransport.Configuration(), library: library)
        for (target, isHost) in [
            (ConnectTarget.host("localhost", port: 1), true), (.host("10.0.0.7", port: 1), true),
            (.unixSocket("/run/users.sock"), false),
        ] {
            var request = Request(.get, "https://users.internal/")
            request.options.connectTarget = target
            let route = try #require(try CurlRoute(request, options))
            let needsHTTP1 = isHost && !library.isHTTP2Sound
            #expect(route.needsHTTP1 == needsHTTP1)
            let wire = try CurlRequest(
                request, body: .empty, length: nil, decodes: false, route: route)
            #expect(wire.isShareable == !needsHTTP1)
        }
    }

    private func call(
        _ client: Client, _ url: String, at target: ConnectTarget?
    ) throws -> Call {
        var request = Request(.get, try #require(URL(string: url)))
        request.options.connectTarget = target
        return client.request(request)
    }

    private func client(
        _ configure: (inout CurlTransport.Configuration) -> Void = { _ in }
    ) throws -> Client {
        var configuration = CurlTransport.Configuration()
        configure(&configuration)
        return Client(transport: try CurlTransport(configuration: configuration), stack: [])
    }

    private func local(_ server: TestServer) -> ConnectTarget {
        .host("127.0.0.1", port: server.port)
    }

    @Test("The timeline tells the endpoint, and that its connection was used before")
    func timeline() async throws {
        let server = try TestServer()
        server.route("/x", .echo)
        let client = try client()
        for isReused in [false, true] {
            let response = try await call(client, "http://a.invalid/x", at: local(server))
                .response()
            _ = try await response.body.collect(upTo: 10_000)
            #expect(response.timeline.peerAddress == "127.0.0.1:\(server.port)")
            #expect(response.timeline.isConnectionReused == isReused)
        }
        #expect(server.requests.map { $0.headers[.host] } == ["a.invalid", "a.invalid"])
    }

    @Test("Connections are reused for one endpoint of one origin, and shared with no other")
    func reuse() async throws {
        let servers = try (0..<3).map { _ in try TestServer() }
        for (number, server) in servers.enumerated() { server.fallback(.ok(text: "\(number)")) }
        // The third origin is the address of the first server itself.
        let origins = [
            "http://a.invalid", "http://b.invalid", "http://127.0.0.1:\(servers[0].port)",
        ]
        // Nine callers of one limit would take the connections of each other. From libcurl 8.20 on, all
        // origins of a server share its limit.
        let client = try client { $0.maxConnectionsPerHost = 4 }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for origin in origins {
                for (number, server) in servers.enumerated() {
                    group.addTask {
                        for _ in 0..<20 {
                            let call = try call(client, origin + "/", at: local(server))
                            #expect(try await call.string() == "\(number)")
                        }
                    }
                }
                group.addTask {
                    guard origin.contains("127.0.0.1") else { return }
                    for _ in 0..<20 {
                        let text = try await call(client, origin + "/", at: nil).string()
                        #expect(text == "0")
                    }
                }
            }
            try await group.waitForAll()
        }
        // Each server has one for each origin, and two callers use the origin that is a server's own
        // address: libcurl takes a target that is the same place for none.
        let accepted = servers.map(\.counts.accepted)
        #expect(accepted.allSatisfy { (3...4).contains($0) }, "\(accepted)")
    }

    @Test("Callers at the limit of an endpoint wait for its connections, and open no others")
    func waitingCallers() async throws {
        let servers = try (0..<2).map { _ in try TestServer() }
        for server in servers { server.fallback(.ok(text: "x")) }
        let client = try client { $0.maxConnectionsPerHost = 2 }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<10 {
                group.addTask {
                    for _ in 0..<20 {
                        let call = try call(
                            client, "http://a.invalid/", at: local(servers[index % 2]))
                        #expect(try await call.string() == "x")
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(servers.map(\.counts.requests) == [100, 100])
        #expect(servers.allSatisfy { (1...2).contains($0.counts.accepted) })
    }

    @Test("The limit for a host counts the endpoints at one address apart")
    func limits() async throws {
        let servers = try (0..<2).map { _ in try TestServer() }
        let hold = TestHold()
        servers[0].fallback(.ok(text: "slow").held(by: hold))
        servers[1].fallback(.ok(text: "quick"))
        let client = try client { $0.maxConnectionsPerHost = 1 }
        async let slow = call(client, "http://a.invalid/", at: local(servers[0])).string()
        try await servers[0].waitForRequests(1)
        #expect(
            try await call(client, "http://a.invalid/", at: local(servers[1])).string() == "quick")
        hold.open()
        #expect(try await slow == "slow")
    }

    @Test("An endpoint is a name, too, and several engines keep them apart")
    func names() async throws {
        let server = try TestServer()
        server.fallback(.ok(text: "x"))
        let client = try client { $0.engines = 3 }
        for host in ["localhost", "127.0.0.1"] {
            for _ in 0..<3 {
                let target = ConnectTarget.host(host, port: server.port)
                #expect(try await call(client, "http://a.invalid/", at: target).string() == "x")
            }
        }
        #expect(server.counts.accepted == 2)
    }

    @Test("A Unix socket is an endpoint, beside others and beside none")
    func unixSockets() async throws {
        let server = try TestServer()
        server.fallback(.ok(text: "plain"))
        let sockets = [try UnixServer(), try UnixServer(parts: [Self.answer])]
        defer { for socket in sockets { socket.stop() } }
        let client = try client()
        let origin = "http://127.0.0.1:\(server.port)"
        for _ in 0..<2 {
            let response = try await call(
                client, origin + "/x", at: .unixSocket(sockets[0].path)
            ).response()
            let text = try await response.body.collect(upTo: 1000)
            #expect(String(decoding: text, as: UTF8.self) == "/x at 127.0.0.1:\(server.port)")
            #expect(response.timeline.peerAddress == sockets[0].path)
            let other = try call(client, origin, at: .unixSocket(sockets[1].path))
            #expect(try await other.string() == "other")
            #expect(try await call(client, origin, at: nil).string() == "plain")
            #expect(try await call(client, origin, at: local(server)).string() == "plain")
        }
    }

    private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother"

    @Test("The request's own target goes before the transport's socket")
    func ownSocket() async throws {
        let server = try TestServer()
        server.fallback(.ok(text: "endpoint"))
        let socket = try UnixServer()
        defer { socket.stop() }
        let client = try client { $0.unixSocket = socket.path }
        for _ in 0..<2 {
            let endpoint = try call(client, "http://a.invalid/", at: local(server))
            #expect(try await endpoint.string() == "endpoint")
            let plain = try call(client, "http://a.invalid/", at: nil)
            #expect(try await plain.string() == "/ at a.invalid")
        }
    }

    @Test("A failure names the endpoint")
    func failure() async throws {
        let server = try TestServer()
        server.stop()
        let client = try client { $0.connectTimeout = .milliseconds(200) }
        let refused = await #expect(throws: ClientError.self) {
            try await call(client, "http://a.invalid/", at: local(server)).data()
        }
        #expect(refused?.code == .connection)
        #expect(refused?.message.contains("(at 127.0.0.1:\(server.port))") == true)
        let listener = try FullListener()
        defer { listener.close() }
        let late = await #expect(throws: ClientError.self) {
            try await call(
                client, "http://a.invalid/", at: .host("127.0.0.1", port: listener.port)
            ).data()
        }
        #expect(late?.code == .connectTimeout)
        #expect(late?.message.contains("(at 127.0.0.1:\(listener.port))") == true)
        let lost = await #expect(throws: ClientError.self) {
            try await call(client, "http://a.invalid/", at: .unixSocket("/nonexistent/s")).data()
        }
        #expect(lost?.code == .connection)
        #expect(lost?.message.contains("(at unix:/nonexistent/s)") == true)
        #expect(lost?.transfer?.isUnsent == true)
    }

    @Test(
        "A target that is none is an invalid request",
        arguments: [
            ConnectTarget.host("a b", port: 80), .host("x", port: 0), .host("a:1:b", port: 1),
            .unixSocket("s"),
        ])
    func invalid(target: ConnectTarget) async throws {
        let client = try client()
        let error = await #expect(throws: ClientError.self) {
            try await call(client, "http://a.invalid/", at: target).data()
        }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains("expected") == true)
    }

    @Test("Through a proxy a target is refused with a sentence; an exception has none")
    func proxies() async throws {
        let server = try TestServer()
        server.fallback(.ok(text: "direct"))
        for scheme in CurlTransport.Proxy.Scheme.allCases {
            var proxy = CurlTransport.Proxy(scheme, host: "127.0.0.1", port: 1)
            proxy.exceptions = ["b.invalid", ".internal"]
            let client = try client { $0.proxy = .through(proxy) }
            let error = await #expect(throws: ClientError.self) {
                try await call(client, "http://a.invalid/", at: local(server)).data()
            }
            #expect(error?.code == .unsupported)
            #expect(error?.message.contains("reached through a proxy") == true)
            for host in ["b.invalid", "x.internal"] {
                let call = try call(client, "http://\(host)/", at: local(server))
                #expect(try await call.string() == "direct")
                // The proxy is there again for the next one.
                let plain = await #expect(throws: ClientError.self) {
                    try await self.call(client, "http://a.invalid/", at: nil).data()
                }
                #expect(plain?.code == .connection)
            }
            // Nothing goes elsewhere if all goes through a proxy.
            proxy.exceptions = []
            var configuration = CurlTransport.Configuration()
            configuration.proxy = .through(proxy)
            let transport = try CurlTransport(configuration: configuration)
            #expect(transport.capabilities.isDisjoint(with: [.connectTargets, .addressRules]))
        }
    }

    @Test(
        "The exceptions of a proxy are libcurl's",
        arguments: [
            ("*", "a.example", true), ("a.example", "a.example", true),
            ("a.example", "A.Example.", true), (".a.example.", "b.a.example", true),
            ("a.example", "ba.example", false), ("b.example, a.example", "x.a.example", true),
            ("b.example a.example", "a.example", true), ("example", "example.org", false),
            ("10.0.0.0/8", "10.1.2.3", true), ("10.0.0.0/8", "11.1.2.3", false),
            ("10.0.0.1/0", "10.0.0.2", false), ("10.0.0.1", "10.0.0.1", true),
            ("10.0.0.0/33", "10.0.0.0", false), ("10.0.0.0/x", "10.0.0.0", false),
            ("192.168.1.64/26", "192.168.1.127", true), ("192.168.1.64/26", "192.168.1.128", false),
            ("::1", "::1", true), ("[::1]", "0:0:0:0:0:0:0:1", true), ("::1/127", "::2", false),
            ("2001:db8::/32", "2001:db8:1::1", true), ("0.1", "10.0.0.1", false),
            (" ,, ", "a.example", false), (".", "a.example", false), ("", "a.example", false),
        ])
    func exceptions(_ text: String, host: String, isExcepted: Bool) {
        #expect(ProxyExceptions(text).contain(host) == isExcepted)
    }
}
