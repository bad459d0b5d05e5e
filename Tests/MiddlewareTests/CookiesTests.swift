// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeStackFiles
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Cookies")
struct CookiesTests {
    private let clock = ManualClock()

    /// Sets what the query says, and answers with the cookies that came.
    private let transport = MockTransport { request in
        var headers = HTTPHeaders()
        let items = URLComponents(url: request.url, resolvingAgainstBaseURL: true)?.queryItems ?? []
        for item in items where item.name == "set" { headers.append(.setCookie, item.value ?? "") }
        for item in items where item.name == "to" { headers[.location] = item.value }
        let status: HTTPStatus = headers.contains(.location) ? 302 : 200
        return .status(status, headers: headers, body: Data((request.headers[.cookie] ?? "-").utf8))
    }

    private func text(_ call: Call) async throws -> String {
        try await call.serialize(with: Text())
    }

    @Test("Cookies come back to the host that set them, and to no other client")
    func roundTrip() async throws {
        let client = Client(transport, clock: clock, [.cookies()])
        #expect(try await text(client.get("http://a.example/?set=a=1&set=b=2")) == "-")
        #expect(try await text(client.get("http://a.example/")) == "a=1; b=2")
        #expect(try await text(client.get("http://b.example/")) == "-")
        #expect(try await text(Client(transport, [.cookies()]).get("http://a.example/")) == "-")
    }

    @Test("The caller's own Cookie line is sent unchanged; new cookies are still kept")
    func ownLine() async throws {
        let client = Client(transport, clock: clock, [.cookies()])
        _ = try await text(client.get("http://a.example/?set=a=1"))
        let own = client.get("http://a.example/?set=b=2", headers: ["Cookie": "mine=1"])
        #expect(try await text(own) == "mine=1")
        #expect(try await text(client.get("http://a.example/")) == "a=1; b=2")
    }

    @Test("A cookie that a redirect sets is sent to the next hop, but never to another host")
    func redirects() async throws {
        let client = Client(transport, clock: clock, [.redirect(), .cookies()])
        #expect(try await text(client.get("http://a.example/?set=a=1&to=/next")) == "a=1")
        #expect(try await text(client.get("http://a.example/?to=http://b.example/")) == "-")
        #expect(transport.sent.last?.request.headers.contains(.cookie) == false)
    }

    @Test("A redirect to the same URL is followed only if a cookie has changed")
    func cookieTest() async throws {
        let transport = MockTransport { request in
            if request.headers.contains(.cookie) { return .ok(text: "in") }
            return .status(302, headers: ["Location": "/x", "Set-Cookie": "seen=1"])
        }
        let client = Client(transport, clock: clock, [.redirect(), .cookies()])
        #expect(try await text(client.get(anywhere)) == "in")
        let stubborn = MockTransport { _ in
            .status(302, headers: ["Location": "/x", "Set-Cookie": "seen=1"])
        }
        let circle = Client(stubborn, clock: clock, [.redirect(), .cookies()])
        #expect(await code(of: circle.get(anywhere)) == .redirect)
        #expect(stubborn.sentCount == 2)
    }

    @Test("Cookies of a response that a validator inside refuses are kept")
    func refused() async throws {
        let transport = MockTransport { request in
            .status(request.headers.contains(.cookie) ? 200 : 401, headers: ["Set-Cookie": "a=1"])
        }
        let client = Client(transport, clock: clock, [.cookies(), .validate()])
        #expect(await code(of: client.get(anywhere)) == .validation)
        #expect(await code(of: client.get(anywhere)) == nil)
    }

    @Test("The jar uses the client's clock")
    func time() async throws {
        let client = Client(transport, clock: clock, [.cookies()])
        _ = try await text(client.get("http://a.example/?set=a=1;%20Max-Age=60"))
        clock.advance(by: .seconds(59))
        #expect(try await text(client.get("http://a.example/")) == "a=1")
        clock.advance(by: .seconds(1))
        #expect(try await text(client.get("http://a.example/")) == "-")
    }

    @Test("Over random chains of redirects no cookie leaves its host or domain")
    func cookieLaw() async throws {
        let hosts = [
            "a.example", "www.a.example", "x.www.a.example", "b.example", "a.example.b.example",
        ]
        try await forAllSeeds { generator in
            let chain = (0..<generator.int(2...8)).map { hop in
                generator.pick(["http", "https"]) + "://" + generator.pick(hosts) + "/\(hop)"
            }
            let lines = chain.map { link in
                let host = URL(string: link)?.host() ?? ""
                let tail = generator.pick([
                    "", "; Domain=a.example", "; Domain=example", "; Secure", "; Domain=\(host)",
                    "; Domain=b.example",
                ])
                // The value says who may see the cookie.
                let domain = tail.hasPrefix("; Domain=") ? String(tail.dropFirst(9)) : ""
                return "c\(generator.int(0...3))=\(host)|\(domain)|\(tail == "; Secure"); Path=/"
                    + tail
            }
            let transport = MockTransport { request in
                guard let hop = Int(request.url.lastPathComponent), hop + 1 < chain.count else {
                    return .ok()
                }
                return .status(
                    307, headers: ["Location": chain[hop + 1], "Set-Cookie": lines[hop]])
            }
            let hasList = generator.int(0...1) == 0
            let jar = CookieJar(
                suffixes: hasList ? PublicSuffixes(parsing: "example") : .standard)
            let client = Client(
                transport, clock: clock,
                [.redirect(limit: 20, allowDowngrade: true), .cookies(jar)])
            _ = try await client.get(Target(chain[0])).response()
            for exchange in transport.sent {
                let host = exchange.request.origin?.host ?? ""
                let pairs = (exchange.request.headers[.cookie] ?? "").split(separator: "; ")
                for pair in pairs {
                    let parts = pair.drop { $0 != "=" }.dropFirst().split(
                        separator: "|", omittingEmptySubsequences: false)
                    let isOwn = parts[0] == host
                    let isBelow =
                        hasList && !parts[1].isEmpty
                        && (host == parts[1] || host.hasSuffix("." + parts[1]))
                    let isSafe = parts[2] == "false" || exchange.request.url.scheme == "https"
                    if !(isOwn || isBelow) || !isSafe || parts[1] == "example" {
                        return "\(pair) went to \(exchange.request.url) in \(chain)"
                    }
                }
            }
            return nil
        }
    }
}

@Suite("Files of cookies and hosts")
struct SavedStateTests {
    private let clock = ManualClock()
    private let path =
        FileManager.default.temporaryDirectory.path + "/turnpike-\(UUID().uuidString).jar"

    private func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return try #require(attributes[.posixPermissions] as? NSNumber).intValue & 0o777
    }

    @Test("A jar is restored from its file, without session cookies")
    func jar() async throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let url = try #require(URL(string: "https://a.example/"))
        let list = PublicSuffixes(parsing: "example")
        let jar = try CookieJar(file: path, suffixes: list, timeSource: clock)
        jar.store(
            [
                "a=1; Max-Age=100; Secure; HttpOnly; SameSite=Lax; Path=/x", "b=2",
                "c=3; Max-Age=100; Domain=a.example",
            ], from: url, at: clock.date)
        await jar.flush()
        #expect(try mode(path) == 0o600)
        let again = try CookieJar(file: path, timeSource: clock)
        let before = jar.cookies.filter { $0.name != "b" }.sorted { $0.name < $1.name }
        let after = again.cookies.sorted { $0.name < $1.name }
        #expect(before.map(\.pair) == after.map(\.pair))
        #expect(after.map(\.isHostOnly) == [true, false])
        #expect(after.first?.sameSite == .lax && after.first?.isSecure == true)
        #expect(after.first?.isHTTPOnly == true && after.first?.path == "/x")
        clock.advance(by: .seconds(101))
        #expect(try CookieJar(file: path, timeSource: clock).cookies.isEmpty)
    }

    @Test("Lines that are not cookies are skipped; a file that cannot be read is an error")
    func garbage() async throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let good =
            #"{"name":"a","value":"1","domain":"a.example","path":"/","created":0,"expires":99999999999}"#
        let lines = [
            "", "{", "[]", "null", "\u{0}\u{1}", #"{"name":1}"#, good,
            good.replacingOccurrences(of: #""1""#, with: #""x;y""#),
            good.replacingOccurrences(of: #""1""#, with: #""x\r\ny""#),
            good.replacingOccurrences(of: #""a""#, with: #""__Host-a""#),
            good.replacingOccurrences(of: #""/""#, with: #""""#),
            String(repeating: "[", count: 100_000),
        ]
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: path))
        #expect(try CookieJar(file: path, timeSource: clock).cookies.map(\.pair) == ["a=1"])
        expectError(.configuration) {
            try CookieJar(file: FileManager.default.temporaryDirectory.path)
        }
    }

    @Test("Changes are written together, a second after the first")
    func delay() async throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let url = try #require(URL(string: "https://a.example/"))
        let jar = try CookieJar(file: path, timeSource: clock)
        for number in 0..<100 { jar.store(["c\(number)=1; Max-Age=9"], from: url, at: clock.date) }
        #expect(clock.timerCount == 1)
        #expect(!FileManager.default.fileExists(atPath: path))
        clock.advance(by: .seconds(1))
        await jar.flush()
        #expect(try CookieJar(file: path, timeSource: clock).cookies.count == 100)
        #expect(clock.timerCount == 0)
    }

    @Test("A client's shutdown writes the jar")
    func shutdown() async throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let transport = MockTransport { _ in .status(200, headers: ["Set-Cookie": "a=1; Max-Age=9"])
        }
        let client = Client(
            transport, clock: clock, [.cookies(try CookieJar(file: path, timeSource: clock))])
        _ = try await client.get(anywhere).response()
        await client.shutdown()
        #expect(try String(contentsOfFile: path, encoding: .utf8).contains(#""name":"a""#))
    }

    @Test("Clients whose stack files name one file share its content")
    func sharedFile() async throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        var registry = Registry()
        registry.registerMiddleware()
        registry.register(transport: "echo") { _ in
            MockTransport { request in
                let name = request.url.lastPathComponent
                let headers: HTTPHeaders = ["Set-Cookie": "\(name)=1; Path=/; Max-Age=9999"]
                return .status(
                    200, headers: name == "read" ? [:] : headers,
                    body: Data((request.headers[.cookie] ?? "-").utf8))
            }
        }
        let clients = try [path, path + "/../" + URL(filePath: path).lastPathComponent].map {
            let file = try StackFile([
                "transport": ["use": "echo"], "stack": [["use": "cookies", "file": .string($0)]],
            ])
            return try ConfiguredClient(
                file, registry: registry, serializers: SerializerTable()
            ).client
        }
        _ = try await clients[0].get("http://a.example/x").response()
        _ = try await clients[1].get("http://a.example/y").response()
        let read = try await clients[0].get("http://a.example/read").serialize(with: Text())
        #expect(read == "x=1; y=1")
        await clients[1].shutdown()
        await clients[0].shutdown()
        #expect(try CookieJar(file: path).cookies.count == 2)
    }

    @Test("HSTS hosts are restored from their file")
    func hosts() async throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let store = try HSTSStore(file: path, timeSource: clock)
        store.store("max-age=100; includeSubDomains", from: "a.example", at: clock.date)
        store.store("max-age=10", from: "b.example", at: clock.date)
        await store.flush()
        #expect(try mode(path) == 0o600)
        clock.advance(by: .seconds(10))
        let again = try HSTSStore(file: path, timeSource: clock)
        #expect(again.hosts == ["a.example", "b.example"])
        #expect(again.requiresTLS("x.a.example", at: clock.date))
        #expect(!again.requiresTLS("b.example", at: clock.date))
        try Data("{\n\u{0}\n{\"host\":1}\n".utf8).write(to: URL(filePath: path))
        #expect(try HSTSStore(file: path, timeSource: clock).hosts.isEmpty)
    }
}
