// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

@Suite("Ways to a server")
struct CurlProxyTests {
    private let server: TestServer

    // The file is there without an address, too, where IPv6 is switched off.
    private static let hasIPv6 =
        (try? String(contentsOfFile: "/proc/net/if_inet6", encoding: .utf8))?
        .contains(String(repeating: "0", count: 31) + "1 ") ?? false

    init() throws {
        server = try TestServer()
        server.route("/", .ok(text: "here"))
    }

    private func client(
        _ configure: (inout CurlTransport.Configuration) -> Void
    ) throws -> Client {
        var configuration = CurlTransport.Configuration()
        configure(&configuration)
        return Client(transport: try CurlTransport(configuration: configuration), stack: [])
    }

    @Test("A SOCKS proxy is asked for the name, or for the address")
    func socks() async throws {
        let proxy = try ProxyServer(to: server.port)
        defer { proxy.stop() }
        let named = try client {
            $0.proxy = .through(.init(.socks5h, host: "127.0.0.1", port: proxy.port))
        }
        #expect(try await named.get("http://origin.invalid:81/").string() == "here")
        #expect(proxy.asked.map(\.host) == ["origin.invalid:81"])
        let resolved = try client {
            var through = CurlTransport.Proxy(.socks5, host: "127.0.0.1", port: proxy.port)
            through.user = "me"
            through.password = "S3CRET"
            $0.proxy = .through(through)
            $0.overrides = [.init(host: "origin.invalid", port: 81, addresses: ["192.0.2.7"])]
        }
        #expect(try await resolved.get("http://origin.invalid:81/").string() == "here")
        #expect(proxy.asked.last?.host == "192.0.2.7:81")
        #expect(proxy.asked.last?.credential == "me:S3CRET")
        #expect(server.requests.allSatisfy { $0.headers[.host] == "origin.invalid:81" })
    }

    @Test(
        "TLS goes through an HTTP proxy as it is, and the credential stays with the proxy",
        .needs("openssl", if: TLSFiles.shared != nil))
    func tunnel() async throws {
        let files = try #require(TLSFiles.shared)
        let secure = try TLSServer(files)
        defer { secure.stop() }
        let proxy = try ProxyServer(to: secure.port)
        defer { proxy.stop() }
        let client = try client {
            $0.trust.authorities = .file(files.authority)
            var through = CurlTransport.Proxy(host: "127.0.0.1", port: proxy.port)
            through.user = "me"
            through.password = "S3CRET"
            $0.proxy = .through(through)
        }
        let response = try await client.get("https://localhost:444/").response()
        #expect(response.status == 200)
        #expect(response.headers[.proxyAuthorization] == nil)
        // The page repeats nothing of the request, but TLS to `localhost` was agreed inside.
        #expect(response.timeline.secured != nil)
        response.body.cancel()
        let credential = Data("me:S3CRET".utf8).base64EncodedString()
        #expect(proxy.asked.map(\.host) == ["localhost:444"])
        #expect(proxy.asked.first?.credential == "Proxy-Authorization: Basic " + credential)
        #expect(proxy.asked.first?.agent == "User-Agent: turnpike")
    }

    @Test("An exception from a proxy stands for a host and all that ends in it")
    func exceptions() async throws {
        let proxy = try TestServer()
        proxy.fallback(.ok(text: "proxy"))
        let port = server.port
        let names = [
            "intern.invalid", "api.intern.invalid", "notintern.invalid", "intern.invalid.org",
        ]
        let client = try client {
            var through = CurlTransport.Proxy(host: "127.0.0.1", port: proxy.port)
            through.exceptions = ["other.invalid", "intern.invalid"]
            $0.proxy = .through(through)
            $0.overrides = names.map { .init(host: $0, port: port, addresses: ["127.0.0.1"]) }
        }
        var answers: [String] = []
        for name in names {
            answers.append(try await client.get("http://\(name):\(port)/").string())
        }
        #expect(answers == ["here", "here", "proxy", "proxy"])
        proxy.stop()
    }

    @Test(
        "A source that is not of this machine is an error of the connection, and nothing was sent")
    func noInterface() async throws {
        let client = try client { $0.sourceInterface = "192.0.2.1" }
        let error = await #expect(throws: ClientError.self) {
            try await client.get(server.target).data()
        }
        #expect(error?.code == .connection)
        #expect(error?.transfer?.isUnsent == true)
        #expect(server.counts.accepted == 0)
    }

    @Test(
        "An IPv6 address that does not answer is given its time, then IPv4 is tried beside it",
        .needs("IPv6", if: hasIPv6), .timeLimit(.minutes(2)))
    func happyEyeballs() async throws {
        #expect(CurlTransport.Configuration().connectionAttemptDelay == .milliseconds(250))
        let deaf = try FullListener(ipv6Port: server.port)
        defer { deaf.close() }
        let client = try client {
            $0.connectionAttemptDelay = .milliseconds(400)
            // The end of the first try would come far behind the limit of this test.
            $0.connectTimeout = .seconds(600)
            $0.overrides = [
                .init(host: "api.invalid", port: server.port, addresses: ["[::1]", "127.0.0.1"])
            ]
        }
        let url = "http://api.invalid:\(server.port)/"
        let (response, tried) = try await triedAddresses(of: url, client)
        #expect(tried == ["0:0:0:0:0:0:0:1", "127.0.0.1"])
        #expect(server.counts.accepted == 1)
        let (timeline, sent) = (response.timeline, response.timeline.sent)
        #expect(timeline.peerAddress == "127.0.0.1")
        let took = try #require(sent).duration(to: try #require(timeline.connected))
        #expect(took >= .milliseconds(390))
        response.body.cancel()
    }

    @Test("A request leaves by the address that is named")
    func sourceInterface() async throws {
        let proxy = try ProxyServer(to: server.port)
        defer { proxy.stop() }
        let client = try client { $0.sourceInterface = "127.0.0.2" }
        #expect(try await client.get("http://127.0.0.1:\(proxy.port)/").string() == "here")
        #expect(proxy.asked.map(\.client) == ["127.0.0.2"])
    }

    @Test(
        "IPv6 addresses are hosts, and what does not answer there is tried elsewhere",
        .needs("IPv6", if: hasIPv6))
    func ipv6() async throws {
        let six = try ProxyServer(to: server.port, isIPv6: true)
        defer { six.stop() }
        let plain = try client { _ in }
        let response = try await plain.get("http://[::1]:\(six.port)/").response()
        #expect(try await response.body.collect(upTo: 100) == Data("here".utf8))
        #expect(response.timeline.peerAddress == "::1")
        #expect(server.requests.last?.headers[.host] == "[::1]:\(six.port)")
        // Nobody listens for IPv6 on the server's own port.
        let both = try client {
            $0.overrides = [
                .init(host: "api.invalid", port: server.port, addresses: ["[::1]", "127.0.0.1"])
            ]
        }
        let other = try await both.get("http://api.invalid:\(server.port)/").response()
        #expect(other.timeline.peerAddress == "127.0.0.1")
        other.body.cancel()
    }
}
