// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

/// A retry outside of a redirect judges calls of several hops.
@Suite("Retry around redirects")
struct RetryAroundRedirectTests {
    private let now = Backoff(base: .zero)

    /// A mock whose `/x` leads to `/y` with a status, and whose `/y` has an answer.
    private func transport(_ status: HTTPStatus, then answer: MockResponse) -> MockTransport {
        MockTransport { request in
            request.url.path() == "/x"
                ? .status(status, headers: ["Location": "/y"]) : answer
        }
    }

    private func paths(_ transport: MockTransport) -> [String] {
        transport.sent.map { $0.request.url.path() }
    }

    @Test(
        "A request that a server accepted and redirected is not sent again if the next hop fails",
        arguments: [301, 302, 303])
    func taken(status: Int) async {
        for answer in [MockResponse.connectionRefused, .status(408)] {
            let transport = transport(HTTPStatus(status), then: answer)
            let client = Client(transport, [.retry(backoff: now), .redirect()])
            _ = try? await client.post(anywhere, body: .text("order")).response()
            #expect(paths(transport) == ["/x", "/y"])
        }
    }

    @Test(
        "After a redirect to another origin, which takes its key, a POST is not sent again",
        arguments: [HTTPHeaders.Name.idempotencyKey, "X-Key"])
    func key(header: HTTPHeaders.Name) async {
        func sends(to host: String, allowing isRetryable: Bool? = nil) async -> [String?] {
            let transport = MockTransport { request in
                request.url.path() == "/x"
                    ? .status(307, headers: ["Location": "http://\(host)/y"]) : .status(503)
            }
            let client = Client(
                transport, [.idempotencyKey(header: header), .redirect(), .retry(backoff: now)])
            var call = client.post("http://a.example/x", body: .text("order"))
            if isRetryable == true { call = call.retryable() }
            _ = try? await call.response()
            return transport.sent.dropFirst().map { $0.request.headers[header] }
        }
        #expect(await sends(to: "b.example") == [nil])
        #expect(await sends(to: "b.example", allowing: true) == [nil, nil, nil])
        let keys = await sends(to: "a.example")
        #expect(keys.count == 3 && Set(keys).count == 1 && keys[0] != nil)
    }

    @Test("An error of a later hop does not say that nothing was sent")
    func phase() async throws {
        let client = Client(transport(303, then: .connectionRefused), [.redirect()])
        let error = await #expect(throws: ClientError.self) {
            try await client.post(anywhere, body: .text("order")).response()
        }
        #expect(error?.code == .connection)
        #expect(error?.transfer?.isUnsent == false)
    }

    @Test("After a 307 the request may be sent again, as may idempotent methods and marked calls")
    func untaken() async {
        let repeated = transport(307, then: .connectionRefused)
        _ = try? await Client(repeated, [.retry(attempts: 2, backoff: now), .redirect()])
            .post(anywhere, body: .text("order")).response()
        #expect(paths(repeated) == ["/x", "/y", "/x", "/y"])
        let marked = transport(303, then: .connectionRefused)
        _ = try? await Client(marked, [.retry(attempts: 2, backoff: now), .redirect()])
            .post(anywhere, body: .text("order")).retryable().response()
        #expect(paths(marked) == ["/x", "/y", "/x", "/y"])
        let idempotent = transport(302, then: .connectionRefused)
        _ = try? await Client(idempotent, [.retry(attempts: 2, backoff: now), .redirect()])
            .get(anywhere).response()
        #expect(paths(idempotent) == ["/x", "/y", "/x", "/y"])
        // Inside of the redirect the hop that fails is all that the retry sees.
        let inside = transport(302, then: .connectionRefused)
        _ = try? await Client(inside, [.redirect(), .retry(attempts: 2, backoff: now)])
            .request(.patch, anywhere, body: .text("order")).response()
        #expect(paths(inside) == ["/x", "/y", "/y"])
    }
}
