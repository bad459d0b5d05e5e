// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeTesting
import TurnpikeTraffic

/// A gate of a user's own that slows down before the server refuses.
private struct Considerate: Interceptor {
    func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        let response = try await next(request)
        let used = response.headers.rateLimits.filter { $0.availableQuota == 0 }
        let wait =
            response.headers.retryAfter(at: context.timeSource.date)
            ?? used.compactMap(\.effectiveWindow).max()
        if let wait { try await context.sleep(for: wait) }
        return response
    }
}

@Suite("What a server says of its limits")
struct ServerLimitsTests {
    private let clock = ManualClock()

    private func client(_ response: MockResponse, _ stack: Stack) -> Client {
        Client(
            baseURL: "http://a.example/", transport: MockTransport { _ in response }, stack: stack,
            timeSource: clock)
    }

    @Test("A gate waits for as long as the fields say, and a Retry-After counts first")
    func gate() async throws {
        for (headers, seconds) in [
            (["RateLimit": "\"a\";r=0;t=7, \"b\";r=0;t=9, \"c\";r=5;t=60"], 9),
            (["RateLimit": "\"a\";r=0;t=7", "Retry-After": "20"], 20),
        ] as [(HTTPHeaders, Int)] {
            let client = client(.ok(text: "x", headers: headers), [Considerate()])
            async let text = client.get("x").string()
            try await clock.waitForTimer(in: .seconds(seconds))
            clock.advance(by: .seconds(seconds))
            #expect(try await text == "x")
        }
    }

    @Test("A hostile server can neither stop the program nor make it wait")
    func hostile() async throws {
        for value in [
            "\"a\";r=0;t=99999999999999999999", "\"a\";r=-1;t=5", "\"a\";r=0;t=-5", "junk", ";;;",
            String(repeating: "\"a\";", count: 10_000),
        ] {
            let client = client(
                .ok(text: "x", headers: ["RateLimit": value, "Retry-After": "-5"]), [Considerate()])
            #expect(try await client.get("x").string() == "x")
        }
    }
}
