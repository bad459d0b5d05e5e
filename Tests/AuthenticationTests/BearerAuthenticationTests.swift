// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeAuthentication
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("BearerAuthentication")
struct BearerAuthenticationTests {
    private let clock = ManualClock()
    private let provider = CountingProvider()

    private func tokens(_ first: String? = "t0") -> BearerTokens {
        BearerTokens(first.map { BearerToken($0) }, provider: provider)
    }

    @Test("A fixed token is sent unchanged, and a 401 is returned")
    func fixed() async throws {
        let transport = guarded { $0 == "other" }
        let client = Client(transport, [.bearer(token: "t")])
        #expect(try await client.get(anywhere).response().status == 401)
        #expect(transport.authorizations == ["Bearer t"])
    }

    @Test("A refused token is refreshed, and the request is sent again with its body")
    func replay() async throws {
        let transport = guarded { $0 == "t1" }
        let client = Client(transport, [.bearer(tokens())])
        let call = client.post(anywhere, body: .text("hello"))
        #expect(try await call.serialize(with: Text()) == "in")
        #expect(transport.authorizations == ["Bearer t0", "Bearer t1"])
        #expect(transport.sent.map(\.body) == [Data("hello".utf8), Data("hello".utf8)])
        #expect(try await call.serialize(with: Text()) == "in")
        #expect(provider.count == 1)
        #expect(transport.sentCount == 3, "the next call begins with the new token")
    }

    @Test("A POST that was redirected is not sent again if the next hop is refused")
    func hop() async throws {
        for (status, sends) in [(303, ["POST", "GET"]), (307, ["POST", "POST", "POST", "POST"])] {
            let transport = MockTransport { request in
                request.url.path() == "/x"
                    ? .status(HTTPStatus(status), headers: ["Location": "/y"]) : .status(401)
            }
            let client = Client(transport, [.bearer(tokens()), .redirect()])
            #expect(try await client.post(anywhere, body: .text("a")).response().status == 401)
            #expect(transport.sent.map(\.request.method.rawValue) == sends)
        }
    }

    @Test(
        "A refusal is handled whether a validator is inside or outside",
        arguments: [true, false])
    func validated(isInside: Bool) async throws {
        let transport = guarded { $0 == "t1" }
        let gates: [any Gate] = [BearerAuthentication(tokens()), Validate()]
        let client = Client(transport, Stack(isInside ? gates : gates.reversed()))
        #expect(try await client.get(anywhere).serialize(with: Text()) == "in")
        #expect(provider.count == 1)
    }

    @Test("Without a token the first call refreshes before it is sent")
    func none() async throws {
        let transport = guarded { $0 == "t1" }
        let client = Client(transport, [.bearer(tokens(nil))])
        #expect(try await client.get(anywhere).serialize(with: Text()) == "in")
        #expect(transport.authorizations == ["Bearer t1"])
    }

    @Test("A call without token and provider fails before it is sent")
    func missing() async throws {
        let transport = guarded { _ in true }
        let client = Client(transport, [.bearer(BearerTokens())])
        #expect(await code(of: client.get(anywhere)) == .auth)
        #expect(transport.sentCount == 0)
    }

    @Test("An empty token is not sent: it is refreshed, or fails the call", arguments: ["", "\t"])
    func empty(text: String) async throws {
        let transport = guarded { $0 == "t1" }
        let fixed = Client(transport, [.bearer(token: text)])
        let error = await #expect(throws: ClientError.self) {
            try await fixed.get(anywhere).response()
        }
        #expect(error?.code == .auth && error?.message.contains("empty") == true)
        #expect(transport.sentCount == 0)
        let client = Client(transport, [.bearer(tokens(text))])
        #expect(try await client.get(anywhere).serialize(with: Text()) == "in")
        #expect(transport.authorizations == ["Bearer t1"])
    }

    @Test("An empty token from a provider is a failed refresh")
    func emptyRefresh() async throws {
        struct Nothing: BearerTokenProvider {
            func token(replacing old: BearerToken?, by exchange: TokenExchange) -> BearerToken {
                BearerToken("")
            }
        }
        let transport = guarded { _ in true }
        let tokens = BearerTokens(provider: Nothing()) { _ in Issue.record("it was told of") }
        #expect(await code(of: Client(transport, [.bearer(tokens)]).get(anywhere)) == .auth)
        #expect(transport.sentCount == 0 && tokens.current == nil)
    }

    @Test("A request is sent again once per call, whatever gates are around")
    func once() async throws {
        let transport = guarded { _ in false }
        let again = RetryPolicy(statuses: [401])
        let client = Client(
            transport, clock: clock,
            [.retry(policy: again, backoff: Backoff(base: .zero)), .bearer(tokens())])
        #expect(try await client.get(anywhere).response().status == 401)
        #expect(
            transport.authorizations
                == ["Bearer t0", "Bearer t1", "Bearer t1", "Bearer t1"])
        #expect(provider.count == 1)
    }

    @Test("Parallel attempts, as of a hedge, that are refused are all sent again")
    func sideBySide() async throws {
        let transport = guarded { $0 == "t1" }
        let provider = CountingProvider { _, _ in try await transport.waitForSends(3) }
        let both = Around { request, _, next in
            try await withThrowingTaskGroup(of: Response.self) { group in
                for _ in 0..<3 { group.addTask { try await next.attempt(request) } }
                for _ in 0..<3 {
                    let response = try #require(await group.next())
                    #expect(response.status == 200)
                }
                return try await next(request)
            }
        }
        let tokens = BearerTokens(BearerToken("t0"), provider: provider)
        let client = Client(transport, [both, .bearer(tokens)])
        #expect(try await client.get(anywhere).serialize(with: Text()) == "in")
        #expect(provider.count == 1)
    }

    @Test("An error without a response is not a refusal")
    func noResponse() async throws {
        let transport = MockTransport { _ in .connectionLost }
        let client = Client(transport, [.bearer(tokens())])
        #expect(await code(of: client.get(anywhere)) == .connection)
        #expect(transport.sentCount == 1)
        #expect(provider.count == 0)
    }

    @Test(
        "Only a 401 that a new token could fix is a refusal (RFC 6750 §3.1)",
        arguments: [
            (401, #"Bearer realm="x""#, 2), (401, #"Bearer error="invalid_token""#, 2),
            (401, "Basic realm=x", 2), (401, #"Bearer error="expired_token""#, 2),
            (401, #"Bearer error="insufficient_scope""#, 1),
            (401, #"Basic realm=x, Bearer error="invalid_request""#, 1),
            (403, #"Bearer error="insufficient_scope""#, 1), (407, "Bearer", 1), (400, "Bearer", 1),
        ])
    func refusals(status: Int, challenge: String, sends: Int) async throws {
        let transport = MockTransport { _ in
            .status(HTTPStatus(status), headers: ["WWW-Authenticate": challenge])
        }
        let client = Client(transport, [.bearer(tokens())])
        #expect(try await client.get(anywhere).response().status == HTTPStatus(status))
        #expect(transport.sentCount == sends)
    }

    @Test("A one-shot body is sent once; the 401 is returned, and the next call refreshes first")
    func oneShotBody() async throws {
        let transport = guarded { $0 == "t1" }
        let client = Client(transport, [.bearer(tokens())])
        let first = try await client.post(anywhere, body: oneShot("once")).response()
        #expect(first.status == 401)
        #expect(provider.count == 0)
        let second = client.post(anywhere, body: oneShot("twice"))
        #expect(try await second.serialize(with: Text()) == "in")
        #expect(transport.authorizations == ["Bearer t0", "Bearer t1"])
    }

    @Test("A request keeps the Authorization that it has, and its 401")
    func own() async throws {
        let transport = guarded { _ in false }
        let client = Client(transport, [.bearer(tokens())])
        let call = client.get(anywhere).header(.authorization, "Bearer mine")
        #expect(try await call.response().status == 401)
        #expect(transport.authorizations == ["Bearer mine"])
        #expect(provider.count == 0)
    }

    @Test("The refused response is discarded, so that its connection is free during the refresh")
    func discards() async throws {
        let ended = Countdown(1)
        let transport = guarded { $0 == "t1" }
        let watch = Around { request, _, next in
            let response = try await next(request)
            if response.status == 401 { response.body.onEnd { _ in _ = ended.takeOne() } }
            return response
        }
        let provider = CountingProvider { _, _ in #expect(!ended.takeOne()) }
        let tokens = BearerTokens(BearerToken("t0"), provider: provider)
        let client = Client(transport, [.bearer(tokens), watch])
        #expect(try await client.get(anywhere).serialize(with: Text()) == "in")
    }

    @Test("A replay is a fresh attempt and counts as a send of the call; the refresh does not")
    func counts() async throws {
        let transport = MockTransport { request in
            switch request.url.path() {
            case "/token": .ok(text: "t1")
            default:
                request.headers[.authorization] == "Bearer t1" ? .ok() : .status(401)
            }
        }
        let provider = CountingProvider { _, exchange in
            let request = Request(.get, "http://a.example/token")
            let status = try await exchange.send(request).status
            #expect(status == 200)
        }
        let tokens = BearerTokens(BearerToken("t0"), provider: provider)
        let client = Client(transport, [.bearer(tokens)])
        let response = try await client.get(anywhere).response()
        #expect(response.attempts == 2)
        #expect(transport.authorizations == ["Bearer t0", "-", "Bearer t1"])
    }

    @Test("A provider may use the client that it serves: the gate lets its requests pass")
    func sameClient() async throws {
        let box = ClientBox()
        let transport = guarded { $0 == "t1" }
        let provider = CountingProvider { _, _ in
            let client = try #require(box.client)
            let response = try await client.get("http://a.example/token").response()
            #expect(response.status == 401)
            // A task of its own too, as long as it is a child.
            async let second = client.get("http://a.example/token").response().status
            #expect(try await second == 401)
        }
        let tokens = BearerTokens(BearerToken("t0"), provider: provider)
        let client = Client(transport, [.bearer(tokens)])
        box.client = client
        #expect(try await client.get(anywhere).serialize(with: Text()) == "in")
        #expect(transport.authorizations == ["Bearer t0", "-", "-", "Bearer t1"])
        #expect(provider.count == 1)
        box.client = nil
    }
}
