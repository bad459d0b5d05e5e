// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

@Suite("Targets of requests that share a handle")
struct CurlTargetTests {
    private let fixture: CurlFixture

    init() throws {
        fixture = try CurlFixture()
        fixture.server.fallback(.echo)
    }

    // Each goes out as it is, whatever went out before it.
    private static let targets = [
        "/", "/a", "/a", "/a?q=1", "/a?q=2&r", "/a", "/b%2Fc%2f", "/b", "/?", "/b", "/a?%41",
        "/a?x?y", "//double/", "/a;b=c,d:e@f", "/~!$&'()*+=", "/[x]?[y]", "/x?a=/b",
        "/\u{E9}?\u{20AC}", "/a", "/%c3%a9?%e2%82%AC", "/a?", "/a?b%2fc?", "/a?%",
    ]

    @Test("One after the other goes out as it is")
    func sequence() async throws {
        for target in Self.targets + Self.targets.reversed() {
            let url = try #require(URL(string: "http://127.0.0.1:\(fixture.server.port)\(target)"))
            let wire = url.absoluteString.dropFirst(7).drop { $0 != "/" }
            let echo = try await fixture.client.get(Target(url)).json()
            #expect(echo["target"]?.string == String(wire))
        }
    }

    @Test("A URL without a path asks for the root, and its query is kept")
    func emptyPath() async throws {
        let origin = "http://127.0.0.1:\(fixture.server.port)"
        for (text, target) in [
            ("", "/"), ("?q", "/?q"), ("/a", "/a"), ("?%2f", "/?%2f"), ("?", "/?"), ("?r", "/?r"),
        ] {
            let url = try #require(URL(string: origin + text))
            #expect(try await fixture.client.get(Target(url)).json()["target"]?.string == target)
        }
    }

    @Test("Origins take turns")
    func origins() async throws {
        let port = fixture.server.port
        for index in 0..<3 {
            for host in ["127.0.0.1", "localhost", "LOCALHOST", "[::ffff:127.0.0.1]"] {
                let url = try #require(URL(string: "http://\(host):\(port)/p?\(index)"))
                guard let echo = try? await fixture.client.get(Target(url)).json() else {
                    // Not each machine has IPv6.
                    #expect(host.hasPrefix("["))
                    continue
                }
                #expect(echo["target"]?.string == "/p?\(index)")
                let field = fixture.server.requests.last?.headers[.host]?.lowercased()
                #expect(field == "\(host.lowercased()):\(port)")
            }
        }
    }

    @Test("What is sent again on another connection goes where it went first")
    func sentAgain() async throws {
        fixture.server.route("/last", .ok(text: "x").thenClose())
        for path in ["one", "two?q", "three%41"] {
            #expect(try await fixture.client.get("last").string() == "x")
            let echo = try await fixture.client.get(Target(path)).json()
            #expect(echo["target"]?.string == "/" + path)
        }
    }

    @Test("A proxy is told the whole of each")
    func proxied() async throws {
        let port = fixture.server.port
        var configuration = CurlTransport.Configuration()
        configuration.proxy = .through(.init(host: "127.0.0.1", port: port))
        let client = Client(transport: try CurlTransport(configuration: configuration), stack: [])
        for text in [
            "http://a.invalid/x?y", "http://a.invalid/z", "http://b.invalid:81/z",
            "http://b.invalid:81/%2fz?", "http://b.invalid:81/z",
        ] {
            #expect(try await client.get(Target(text)).json()["target"]?.string == text)
        }
    }

    @Test("A server that is reached without the proxy is told the path alone")
    func exempted() async throws {
        let port = fixture.server.port
        var configuration = CurlTransport.Configuration()
        var proxy = CurlTransport.Proxy(host: "127.0.0.1", port: port)
        proxy.exceptions = ["localhost"]
        configuration.proxy = .through(proxy)
        let client = Client(transport: try CurlTransport(configuration: configuration), stack: [])
        for path in ["/%2fz?", "/z", "/?"] {
            let echo = try await client.get(Target("http://localhost:\(port)\(path)")).json()
            #expect(echo["target"]?.string == path)
        }
    }

    @Test(
        "OPTIONS for a URL without a path asks the server as a whole, and a proxy by the whole URL")
    func asterisk() async throws {
        let port = fixture.server.port
        fixture.server.route("*", .echo)
        let origin = "http://127.0.0.1:\(port)"
        for (target, wire) in [
            (Target.server, "*"), (Target(origin), "*"), ("/", "/"), (.server, "*"),
            (Target(origin + "?q"), "/?q"), ("/*", "/*"),
        ] {
            let echo = try await fixture.client.options(target).json()
            #expect(echo["target"]?.string == wire)
            #expect(echo["method"]?.string == "OPTIONS")
            #expect(fixture.server.requests.last?.headers[.host] == "127.0.0.1:\(port)")
        }
        // No other method has the form.
        #expect(try await fixture.client.get(.server).json()["target"]?.string == "/")
        var configuration = CurlTransport.Configuration()
        configuration.proxy = .through(.init(host: "127.0.0.1", port: port))
        let client = Client(transport: try CurlTransport(configuration: configuration), stack: [])
        let echo = try await client.options("http://a.invalid:81").json()
        #expect(echo["target"]?.string == "http://a.invalid:81")
        let error = await #expect(throws: ClientError.self) {
            try await client.options(.server).data()
        }
        #expect(error?.code == .invalidRequest)
    }

    @Test("Each character that a URL may have goes out as it is")
    func characters() async throws {
        for byte in UInt8(0x21)...0x7E {
            let plain = "\(Character(Unicode.Scalar(byte)))"
            let escape = "%" + String(byte, radix: 16)
            for text in ["/\(plain)x?\(plain)", "/\(escape)x?\(escape)"] {
                guard
                    let url = URL(string: "http://127.0.0.1:\(fixture.server.port)\(text)"),
                    url.fragment == nil
                else { continue }
                let wire = url.absoluteString.dropFirst(7).drop { $0 != "/" }
                let echo = try await fixture.client.get(Target(url)).json()
                #expect(echo["target"]?.string == String(wire))
            }
        }
    }
}
