// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeInspection

@testable import TurnpikeTesting

@Suite("Trace server")
struct TraceServerTests {
    private let store = TraceStore()
    private let server: TraceServer

    init() throws { server = try TraceServer(store, title: "Calls <of> a test") }

    private var path: String { server.url.path }

    private func ask(
        _ path: String, method: String = "GET", host: String? = nil, fields: String = ""
    ) async -> (status: String, fields: String, content: String) {
        let text = await rawExchange(
            port: server.port,
            "\(method) \(path) HTTP/1.1\r\nHost: \(host ?? "127.0.0.1:\(server.port)")\r\n"
                + fields + "\r\n")
        let parts = text.components(separatedBy: "\r\n\r\n")
        let status = text.prefix { $0 != "\r\n" }.dropFirst("HTTP/1.1 ".count)
        return (
            String(status), parts.first ?? "", parts.dropFirst().joined(separator: "\r\n\r\n")
        )
    }

    private func call() async throws {
        let client = Client(
            baseURL: "http://a.example/", transport: MockTransport { _ in .ok() },
            stack: [.validate()],
            trace: store)
        try await client.get("users/1").header("Authorization", "Bearer hunter2").empty()
    }

    #if canImport(Glibc)
    @Test("A connection is accepted when a descriptor is free again")
    func noDescriptor() async {
        // Other tests need descriptors.
        await #expect(processExitsWith: .success) {
            var limit = rlimit(rlim_cur: 256, rlim_max: 256)
            #expect(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            let listener = try TestSocket.listening()
            let client = try #require(RawConnection(port: listener.localPort()))
            var taken: [CInt] = []
            while case let copy = dup(2), copy >= 0 { taken.append(copy) }
            let last = try #require(taken.last)
            let peer = listener.accept { close(last) }
            for copy in taken.dropLast() { close(copy) }
            #expect(peer != nil)
            withExtendedLifetime(client) {}
        }
    }
    #endif

    @Test("The page, and the traces as they are now, are at the address with the token")
    func page() async throws {
        let page = await ask(path + "/")
        #expect(page.status == "200 OK")
        #expect(page.fields.contains("Content-Type: text/html; charset=utf-8"))
        #expect(page.content.contains("<title>Calls &lt;of&gt; a test</title>"))
        #expect(page.content.contains("traces.json") && page.content.contains("connect-src 'self'"))
        #expect(await ask(path + "/traces.json").content == "[]")
        try await call()
        let traces = await ask(path + "/traces.json")
        #expect(traces.fields.contains("Content-Type: application/json"))
        let json = try JSONValue(parsing: Data(traces.content.utf8))
        #expect(json[0]?["spans"]?[0]?["name"] == "GET /users/1")
        #expect(!traces.content.contains("hunter2"))
    }

    @Test("Traces are sent again only after they have changed")
    func unchanged() async throws {
        func tag(_ fields: String) -> String? {
            fields.firstMatch(of: #/ETag: ("[0-9a-f]{16}")/#).map { String($0.1) }
        }
        let answer = await ask(path + "/traces.json")
        let first = try #require(tag(answer.fields))
        let known = "If-None-Match: \(first)\r\n"
        let same = await ask(path + "/traces.json", fields: known)
        #expect(same.status == "304 Not Modified" && same.content == "")
        #expect(tag(same.fields) == first)
        #expect(!same.fields.contains("Content-Length") && !same.fields.contains("Content-Type:"))
        #expect(await ask("/0/traces.json", fields: known).status == "404 Not Found")
        try await call()
        let changed = await ask(path + "/traces.json", fields: known)
        #expect(changed.status == "200 OK" && changed.content.contains("GET /users/1"))
        #expect(tag(changed.fields) != nil && tag(changed.fields) != first)
        #expect(await ask(path + "/").content.contains("If-None-Match"))
    }

    @Test("Idle connections keep nobody out: the oldest gives its place to the newest")
    func idle() async {
        let connections = (0..<3 * TraceServer.maxConnections).compactMap { _ in
            RawConnection(port: server.port)
        }
        #expect(connections.count == 3 * TraceServer.maxConnections)
        #expect(await ask(path + "/").status == "200 OK")
        #expect(await ask(path + "/traces.json").status == "200 OK")
        #expect(connections.first?.readToEnd() == Data())
    }

    @Test("A read or a write that is not done before its deadline fails")
    func deadline() throws {
        let listener = try TestSocket.listening()
        let client = try #require(RawConnection(port: try listener.localPort()))
        let socket = try #require(listener.accept())
        let past = ContinuousClock.now
        #expect(socket.read(before: past) == nil)
        #expect(!socket.write(Data("a".utf8), before: past))
        #expect(socket.read(before: past + .milliseconds(1)) == nil)
        // More than the system holds for a peer that reads nothing.
        let large = Data(count: 67_108_864)
        #expect(!socket.write(large, before: ContinuousClock.now + .milliseconds(20)))
        client.write("hello")
        #expect(socket.read(before: past + .seconds(600)) == Data("hello".utf8))
        socket.close()
    }

    @Test("Nobody else may keep the answers, embed them, or learn the address from them")
    func fields() async {
        let fields = await ask(path + "/").fields
        for field in [
            "Cache-Control: no-store", "Referrer-Policy: no-referrer",
            "X-Content-Type-Options: nosniff", "X-Frame-Options: DENY",
            "Cross-Origin-Resource-Policy: same-origin",
        ] {
            #expect(fields.contains(field), "\(field)")
        }
        #expect(!fields.contains("Access-Control"))
    }

    @Test("Without the token everything is a 404, and tokens differ")
    func token() async throws {
        let token = path.dropFirst()
        #expect(token.wholeMatch(of: #/[0-9a-f]{32}/#) != nil, "\(path)")
        for path in [
            "/", "/traces.json", "/favicon.ico", "/\(token.dropLast())/", "/\(token)0/",
            "/\(token)",
            "/0\(token.dropFirst())/", "//", "/\(token)/other", "/\(token)/../\(token)/",
        ] where path != "/\(token)/" {
            #expect(await ask(path).status == "404 Not Found", "\(path)")
        }
        #expect(try TraceServer(store).url != server.url)
    }

    @Test("A host that is not loopback is refused, with the token too (DNS rebinding)")
    func hosts() async {
        for host in [
            "evil.example", "evil.example:\(server.port)", "127.0.0.1", "127.0.0.1:1", "",
            "127.0.0.1:\(server.port).evil.example", "169.254.169.254:\(server.port)",
        ] {
            #expect(
                await ask(path + "/", host: host).status == "421 Misdirected Request", "\(host)")
        }
        #expect(await ask(path + "/", host: "localhost:\(server.port)").status == "200 OK")
    }

    @Test("Only GET is answered, and what is no request is refused")
    func requests() async {
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "HEAD"] {
            let answer = await ask(path + "/", method: method)
            #expect(answer.status == "405 Method Not Allowed", "\(method)")
        }
        let text = await rawExchange(port: server.port, "no request\r\n\r\n")
        #expect(text.hasPrefix("HTTP/1.1 400 "))
    }

    @Test("A head without an end is cut off")
    func longHead() async {
        let head = "GET / HTTP/1.1\r\nX: " + String(repeating: "x", count: 100_000)
        #expect(await rawExchange(port: server.port, head) == "")
    }

    @Test("After its end nothing is answered, and a second end does nothing")
    func stop() async {
        #expect(await ask(path + "/").status == "200 OK")
        server.stop()
        server.stop()
        #expect(await rawExchange(port: server.port, "GET / HTTP/1.1\r\n\r\n") == "")
    }
}
