// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeAuthentication
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("BearerTokens under concurrency")
struct BearerTokensConcurrencyTests {
    @Test("A thousand calls that meet an expired token cost one refresh, and all succeed")
    func storm() async throws {
        let transport = guarded { $0 == "t1" }
        let provider = CountingProvider { _, _ in try await transport.waitForSends(500) }
        let tokens = BearerTokens(BearerToken("t0"), provider: provider)
        let client = Client(transport, [.bearer(tokens)])
        let answers = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<1000 {
                group.addTask { try await client.get(anywhere).serialize(with: Text()) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers == Array(repeating: "in", count: 1000))
        #expect(provider.count == 1)
        #expect(transport.authorizations.filter { $0 == "Bearer t1" }.count == 1000)
    }

    @Test("A refresh that begins while the provider is removed has an end")
    func removal() async throws {
        struct Removal: CallReader {
            let tokens: BearerTokens
            func read(_ step: CallStep, in context: Context) {
                guard case .entered(.wait, _) = step else { return }
                tokens.update(policy: .standard, provider: nil)
            }
        }
        let tokens = BearerTokens(provider: CountingProvider())
        let client = Client(guarded { $0.hasPrefix("t") }, [.bearer(tokens)])
        var call = client.get(anywhere)
        call.readers = [Removal(tokens: tokens)]
        #expect(try await call.serialize(with: Text()) == "in")
        let next = CountingProvider()
        tokens.update(policy: .standard, provider: next)
        tokens.replace(with: nil)
        #expect(try await client.get(anywhere).serialize(with: Text()) == "in")
        #expect(next.count == 1)
    }

    @Test("Every caller gets one outcome while some leave, and no waiter is lost")
    func leaving() async throws {
        let clock = ManualClock()
        let transport = guarded { $0 == "t1" }
        let provider = CountingProvider { _, exchange in
            try await exchange.context.sleep(for: .seconds(1))
        }
        let tokens = BearerTokens(BearerToken("t0"), provider: provider)
        let client = Client(transport, clock: clock, [.bearer(tokens)])
        let tasks = (0..<1000).map { _ in
            Task { try await client.get(anywhere).serialize(with: Text()) }
        }
        try await clock.waitForTimer(in: .seconds(1))
        try await transport.waitForSends(700)
        for index in stride(from: 0, to: 1000, by: 3) { tasks[index].cancel() }
        clock.advance(by: .seconds(1))
        var ends = (answered: 0, cancelled: 0)
        for (index, task) in tasks.enumerated() {
            do {
                #expect(try await task.value == "in")
                ends.answered += 1
            } catch is CancellationError {
                #expect(index % 3 == 0)
                ends.cancelled += 1
            }
        }
        #expect(ends.answered + ends.cancelled == 1000)
        #expect(ends.answered >= 666)
        #expect(provider.count == 1)
    }

    @Test("Refreshes that fail and succeed by turns leave no caller waiting")
    func mixed() async throws {
        struct Broken: Error {}
        let transport = guarded { $0 == "t4" }
        let provider = CountingProvider { number, _ in if number % 2 == 1 { throw Broken() } }
        let tokens = BearerTokens(
            BearerToken("t0"), provider: provider, policy: RefreshPolicy(maxRefreshes: 1000))
        let client = Client(transport, [.bearer(tokens)])
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<1000 {
                group.addTask { _ = try? await client.get(anywhere).serialize(with: Text()) }
            }
        }
        while tokens.current?.value != "t4" { _ = try? await client.get(anywhere).response() }
        #expect(try await client.get(anywhere).serialize(with: Text()) == "in")
    }
}
