// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeAuthentication
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("BearerTokens whose provider fails, or gives tokens of a short life")
struct BearerTokensPauseTests {
    private let clock = ManualClock()

    private func client(
        _ transport: MockTransport, _ provider: CountingProvider, _ first: String? = "t0"
    ) -> Client {
        let tokens = BearerTokens(first.map { BearerToken($0) }, provider: provider)
        return Client(transport, clock: clock, [.bearer(tokens)])
    }

    @Test("Tokens of a short life are refreshed as often as it takes: nothing was refused")
    func shortLives() async throws {
        let transport = guarded { _ in true }
        let provider = CountingProvider(life: .seconds(6))
        let client = client(transport, provider, nil)
        for _ in 0..<60 {
            #expect(try await client.get(anywhere).response().status == 200)
            clock.advance(by: .seconds(1))
        }
        #expect(provider.count > 5)
    }

    @Test("A sign-in that failed is tried again after pauses that grow, and its cause is kept")
    func pauses() async throws {
        let transport = guarded { _ in true }
        let provider = CountingProvider { number, _ in
            if number <= 4 { throw ClientError(.connection, "the endpoint is away") }
        }
        let client = client(transport, provider, nil)
        var failures = 0
        // One call in 100 ms: the endpoint is away for four attempts.
        for _ in 0..<300 where provider.count <= 4 {
            do { _ = try await client.get(anywhere).response() } catch let error as ClientError {
                failures += 1
                #expect(error.code == .auth)
                #expect("\(error)".contains("the endpoint is away"), "\(error)")
                #expect(!error.message.contains("still refused"))
            }
            clock.advance(by: .milliseconds(100))
        }
        #expect(provider.count == 5)
        #expect((5...25).contains(failures), "\(failures)")
        #expect(try await client.get(anywhere).response().status == 200)
    }

    @Test("A sign-in is not tried again before the endpoint's Retry-After")
    func retryAfter() async throws {
        let transport = guarded { _ in true }
        let provider = CountingProvider { number, _ in
            if number == 1 {
                throw ClientError(.overloaded, "later", retryAfter: .seconds(20))
            }
        }
        let client = client(transport, provider, nil)
        for _ in 0..<19 {
            let error = await #expect(throws: ClientError.self) {
                try await client.get(anywhere).response()
            }
            #expect(error?.code == .auth)
            clock.advance(by: .seconds(1))
        }
        #expect(provider.count == 1)
        clock.advance(by: .seconds(1))
        #expect(try await client.get(anywhere).response().status == 200)
    }
}
