// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeCurlStackFiles
import TurnpikeStackFiles
import TurnpikeTesting

@testable import TurnpikeCurl

/// Proxies that the environment names, by curl's rules.
@Suite("Proxies of the environment")
struct CurlProxyEnvironmentTests {
    private struct Case: CustomTestStringConvertible {
        let variables: [String: String]
        let http, https: String?

        init(_ variables: [String: String], _ http: String?, _ https: String?) {
            self.variables = variables
            self.http = http
            self.https = https
        }

        var testDescription: String { "\(variables)" }
    }

    private static let cases = [
        Case([:], nil, nil),
        Case(["http_proxy": "http://a:1"], "http://a:1", nil),
        Case(["HTTP_PROXY": "http://a:1"], nil, nil),
        Case(["https_proxy": "http://a:1"], nil, "http://a:1"),
        Case(["HTTPS_PROXY": "http://a:1"], nil, "http://a:1"),
        Case(["HTTPS_PROXY": "http://a:1", "https_proxy": "http://b:1"], nil, "http://b:1"),
        Case(["ALL_PROXY": "http://a:1"], "http://a:1", "http://a:1"),
        Case(["all_proxy": "http://a:1", "http_proxy": "b:2"], "http://b:2", "http://a:1"),
        Case(["all_proxy": "http://a:1", "http_proxy": ""], "http://a:1", "http://a:1"),
        Case(["http_proxy": "a"], "http://a:1080", nil),
        Case(["https_proxy": "socks5h://[::1]:9/"], nil, "socks5h://[::1]:9"),
    ]

    @Test("Each scheme has the variables that curl gives it", arguments: Self.cases)
    private func variables(_ example: Case) throws {
        let routes = try ProxyRoutes(.environment(example.variables))
        #expect(routes.http.map { "\($0)" } == example.http)
        #expect(routes.https.map { "\($0)" } == example.https)
    }

    @Test("What is no proxy is refused with the variable's name, and not its value")
    func mistakes() {
        for text in ["ftp://S3CRET@x", "http://", "http://u:S3CRET@x:99999", "https://S3CRET"] {
            var configuration = CurlTransport.Configuration()
            configuration.proxy = .environment(["https_proxy": text])
            let error = #expect(throws: ClientError.self) {
                try CurlTransport(configuration: configuration)
            }
            #expect(error?.code == .configuration)
            #expect(error?.message.contains("https_proxy") == true)
            #expect(error.map { !"\($0)".contains("S3CRET") } == true)
        }
        let choice = CurlTransport.ProxyChoice.environment(["http_proxy": "http://u:S3CRET@x"])
        #expect(!String(reflecting: choice).contains("S3CRET"))
        var dumped = ""
        dump(choice, to: &dumped)
        #expect(!dumped.contains("S3CRET"))
    }

    @Test(
        "Each scheme goes its own way, with its own credential, and exceptions go directly",
        .needs("openssl", if: TLSFiles.shared != nil))
    func ways() async throws {
        let files = try #require(TLSFiles.shared)
        let origin = try TestServer()
        origin.fallback(.ok(text: "direct"))
        let plain = try TestServer()
        plain.fallback(.ok(text: "through a proxy"))
        let tls = try TLSServer(files)
        defer { tls.stop() }
        let secure = try ProxyServer(to: tls.port)
        defer { secure.stop() }
        var configuration = CurlTransport.Configuration()
        configuration.trust.authorities = .file(files.authority)
        configuration.proxy = .environment([
            "http_proxy": "http://m%65:S3%43RET@127.0.0.1:\(plain.port)",
            "https_proxy": "socks5h://you:0THER@127.0.0.1:\(secure.port)",
            "no_proxy": "other.invalid,127.0.0.0/8",
        ])
        let client = Client(transport: try CurlTransport(configuration: configuration), stack: [])
        for _ in 0..<2 {
            #expect(try await client.get("http://a.invalid/x").string() == "through a proxy")
            let seen = try #require(plain.requests.last)
            #expect(seen.target == "http://a.invalid/x")
            #expect(seen.headers[.proxyAuthorization] == "Basic bWU6UzNDUkVU")
            #expect(try await client.get("https://localhost:\(tls.port)/").response().status == 200)
            #expect(secure.asked.last?.host == "localhost:\(tls.port)")
            #expect(secure.asked.last?.credential == "you:0THER")
            #expect(try await client.get(Target(origin.url)).string() == "direct")
            #expect(origin.requests.last?.target == "/")
        }
        #expect(origin.requests.allSatisfy { $0.headers[.proxyAuthorization] == nil })
    }

    @Test("A stack file asks for them by a word")
    func settings() throws {
        var registry = Registry.standard
        registry.registerCurl(environment: ["http_proxy": "ftp://x"])
        let file = try StackFile([
            "transport": ["use": "curl", "proxy": "environment"], "stack": [],
        ])
        #expect(file.check(with: registry).first?.description.contains("http_proxy") == true)
        registry.registerCurl(environment: ["http_proxy": "http://x:1"])
        #expect(file.check(with: registry).isEmpty)
        let direct = try StackFile(["transport": ["use": "curl"], "stack": []])
        registry.registerCurl(environment: ["http_proxy": "ftp://x"])
        #expect(direct.check(with: registry).isEmpty)
    }
}
