// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeAuthentication
@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("DigestAuthentication")
struct DigestAuthenticationTests {
    private let clock = ManualClock()

    private func client(_ server: DigestServer, user: String = "u") -> Client {
        Client(server.transport, clock: clock, [.digest(user: user, password: "p")])
    }

    @Test(
        "Each algorithm and quality of protection is answered as the server expects",
        arguments: ["MD5", "MD5-sess", "SHA-256", "SHA-256-sess"],
        ["auth", "auth-int", "auth,auth-int", ""])
    func kinds(algorithm: String, qop: String) async throws {
        let server = DigestServer(algorithm: algorithm, qop: qop)
        let client = client(server)
        for _ in 0..<3 {
            let call = client.post("http://a.example/x?y=%20z", body: .text("content"))
            #expect(try await call.response().status == 200)
        }
        #expect(server.transport.sentCount == 4, "one challenge serves all")
        #expect(server.counts == (qop.isEmpty ? [0, 0, 0] : [1, 2, 3]))
    }

    @Test("A POST that was redirected is not sent again if the next hop is refused")
    func hop() async throws {
        let challenge: HTTPHeaders = [
            "WWW-Authenticate": #"Digest realm="r", nonce="n", qop="auth""#
        ]
        let transport = MockTransport { request in
            if request.headers[.authorization] == nil { return .status(401, headers: challenge) }
            return switch (request.method, request.url.path()) {
            case (.get, "/x"): .ok()
            case (.post, _): .status(303, headers: ["Location": "/y"])
            default: .status(401, headers: challenge)
            }
        }
        let client = Client(transport, [.digest(user: "u", password: "p"), .redirect()])
        #expect(try await client.get(anywhere).response().status == 200)
        #expect(try await client.post(anywhere, body: .text("a")).response().status == 401)
        #expect(transport.sent.map(\.request.method) == [.get, .get, .post, .get])
    }

    @Test("A streamed body is hashed for auth-int and sent whole")
    func streamed() async throws {
        let server = DigestServer(qop: "auth-int")
        let body = RequestBody.stream(replayable: true) {
            AsyncStream([Data("a".utf8), Data("b".utf8)])
        }
        #expect(try await client(server).put(anywhere, body: body).response().status == 200)
        #expect(server.transport.sent.last?.body == Data("ab".utf8))
    }

    @Test("The strongest challenge is chosen, the first of equal ones, and never Basic")
    func strongest() async throws {
        for lines in [
            [#"Basic realm="r""#, #"Digest realm="r", nonce="m", algorithm=MD5"#, "$"],
            [#"Digest realm="r", nonce="m", algorithm=MD5, $, Basic realm="r""#],
            [#"Digest realm="r", nonce="x", algorithm=SHA-512-256, $"#],
            [#"$, Digest realm="r", nonce="second", algorithm=SHA-256"#],
        ] {
            let server = DigestServer(algorithm: "SHA-256") { challenge in
                lines.map { $0.replacingOccurrences(of: "$", with: challenge) }
            }
            #expect(try await client(server).get(anywhere).response().status == 200)
        }
    }

    @Test(
        "A challenge that cannot be answered is returned, and no password is sent",
        arguments: [
            #"Basic realm="r""#, #"Digest realm="r""#, #"Digest nonce="n""#, "Digest", "",
            #"Digest realm="r", nonce="n", algorithm=FOO"#,
            #"Digest realm="r", nonce="n", qop="other""#, #"Digest realm="r", nonce=""#,
        ])
    func unanswerable(challenge: String) async throws {
        let transport = MockTransport { _ in
            .status(401, headers: ["WWW-Authenticate": challenge])
        }
        let client = Client(transport, [.digest(user: "u", password: "p")])
        #expect(try await client.get(anywhere).response().status == 401)
        #expect(transport.authorizations == ["-"])
    }

    @Test("After a refused answer a challenge for Basic is not answered")
    func downgrade() async throws {
        let count = Countdown(1)
        let transport = MockTransport { _ in
            let challenge =
                count.takeOne() ? #"Digest realm="r", nonce="n", qop="auth""# : "Basic realm=r"
            return .status(401, headers: ["WWW-Authenticate": challenge])
        }
        let client = Client(transport, [.digest(user: "u", password: "p")])
        for _ in 0..<2 {
            #expect(try await client.get(anywhere).response().status == 401)
        }
        #expect(transport.authorizations.count == 3)
        #expect(!transport.authorizations.contains { $0.hasPrefix("Basic") })
    }

    @Test("A wrong password is answered once")
    func wrong() async throws {
        let server = DigestServer(password: "other")
        #expect(try await client(server).get(anywhere).response().status == 401)
        #expect(server.transport.sentCount == 2)
    }

    @Test("A stale nonce is replaced once; a nonce that is always stale is not")
    func stale() async throws {
        let server = DigestServer(uses: 1)
        let client = client(server)
        for _ in 0..<3 { #expect(try await client.get(anywhere).response().status == 200) }
        #expect(server.transport.sentCount == 2 + 2 + 2)
        let never = DigestServer(uses: 0)
        #expect(try await self.client(never).get(anywhere).response().status == 401)
        #expect(never.transport.sentCount == 3)
    }

    @Test("A nonce that the server has forgotten is replaced, even if it is not called stale")
    func forgotten() async throws {
        let server = DigestServer()
        let client = client(server)
        #expect(try await client.get(anywhere).response().status == 200)
        server.forget()
        #expect(try await client.get(anywhere).response().status == 200)
        #expect(server.transport.sentCount == 4)
    }

    @Test("The nonce that the server names as the next one is used (RFC 7616 §3.5)")
    func nextNonce() async throws {
        let server = DigestServer(algorithm: "SHA-256-sess", namesNext: true)
        let client = client(server)
        for _ in 0..<4 { #expect(try await client.get(anywhere).response().status == 200) }
        #expect(server.transport.sentCount == 5)
        #expect(server.counts == [1, 1, 1, 1])
    }

    @Test("A one-shot body is sent once; the next request answers without a challenge")
    func oneShotBody() async throws {
        let server = DigestServer()
        let client = client(server)
        #expect(try await client.post(anywhere, body: oneShot("a")).response().status == 401)
        #expect(try await client.post(anywhere, body: oneShot("b")).response().status == 200)
        #expect(server.transport.sentCount == 2)
        #expect(server.counts == [1])
    }

    @Test(
        "A refusal is handled whether a validator is inside or outside", arguments: [true, false])
    func validated(isInside: Bool) async throws {
        let server = DigestServer()
        let gates: [any Gate] = [DigestAuthentication(user: "u", password: "p"), Validate()]
        let client = Client(server.transport, Stack(isInside ? gates : gates.reversed()))
        #expect(try await client.get(anywhere).response().status == 200)
    }

    @Test("A user name that is not ASCII, or has quotes, is written by RFC 7616 §3.4")
    func names() async throws {
        for (user, field) in [
            ("Jäsøn Doe", "username*=UTF-8''J%C3%A4s%C3%B8n%20Doe"),
            (#"a"\b"#, #"username="a\"\\b""#),
        ] {
            let server = DigestServer()
            _ = try await client(server, user: user).get(anywhere).response()
            #expect(server.transport.authorizations.last?.contains(field) == true)
        }
        let server = DigestServer { [$0 + ", userhash=true"] }
        _ = try await client(server, user: "Jäsøn Doe").get(anywhere).response()
        let sent = try #require(server.transport.authorizations.last)
        let hashed = DigestHash.sha256.hex("Jäsøn Doe:r")
        #expect(sent.contains(#"username="\#(hashed)""#))
        #expect(sent.contains("userhash=true"))
    }

    @Test("A domain limits the URLs that get an answer without a challenge")
    func domain() async throws {
        let server = DigestServer { [$0 + #", domain="/a http://b.example/x""#] }
        let client = client(server)
        for path in ["a/1", "a/2", "x"] {
            _ = try await client.get(Target("http://a.example/" + path)).response()
        }
        let bare = server.transport.sent.filter { !$0.request.headers.contains(.authorization) }
        #expect(bare.map { $0.request.url.path() } == ["/a/1", "/x"])
    }
}

@Suite("Nonces of many origins")
struct DigestSessionsTests {
    @Test("Beyond a thousand origins only the least recently used one is challenged again")
    func eviction() async throws {
        let challenge = #"Digest realm="r", nonce="n", qop="auth""#
        let transport = MockTransport(recordLimit: 5000) { request in
            request.headers.contains(.authorization)
                ? .ok() : .status(401, headers: ["WWW-Authenticate": challenge])
        }
        func target(_ number: Int) -> String { "http://h\(number).example" }
        let client = Client(
            transport,
            [
                .digest(
                    user: "u", password: "p",
                    origins: CredentialOrigins(parsing: (0...1024).map(target)))
            ])
        for number in 0...1024 { _ = try await client.get(Target(target(number))).response() }
        let before = transport.sentCount
        for number in [1, 2, 512, 1024] {
            _ = try await client.get(Target(target(number))).response()
        }
        #expect(transport.sentCount == before + 4)
        _ = try await client.get(Target(target(0))).response()
        #expect(transport.sentCount == before + 6)
    }
}

@Suite("DigestAuthentication under concurrency")
struct DigestAuthenticationConcurrencyTests {
    @Test("A thousand requests never use a count of a nonce twice")
    func counts() async throws {
        let server = DigestServer()
        let client = Client(server.transport, [.digest(user: "u", password: "p")])
        _ = try await client.get(anywhere).response()
        try await withThrowingTaskGroup(of: HTTPStatus.self) { group in
            for _ in 0..<1000 {
                group.addTask { try await client.get(anywhere).response().status }
            }
            for try await status in group { #expect(status == 200) }
        }
        #expect(server.counts.sorted() == Array(1...1001))
    }
}
