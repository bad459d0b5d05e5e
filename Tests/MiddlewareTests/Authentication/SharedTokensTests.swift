import Testing
import TurnpikeCore
import TurnpikeMiddleware
import TurnpikeTesting

@Suite("Tokens of several clients")
struct SharedTokensTests {
    private let clock = ManualClock()

    @Test("The end of the client that refreshes is not the end of another's calls")
    func ended() async throws {
        let transport = guarded { $0 == "t2" }
        let provider = CountingProvider { number, exchange in
            if number == 1 { try await exchange.context.sleep(for: .seconds(10)) }
        }
        let tokens = BearerTokens(BearerToken("t0"), provider: provider)
        let first = Client(transport, clock: clock, [.bearer(tokens)])
        let second = Client(transport, clock: clock, [.bearer(tokens)])
        let early = first.get(anywhere).start(Text())
        await clock.waitForTimer(in: .seconds(10))
        let waiting = (0..<2).map { _ in second.get(anywhere).start(Text()) }
        await transport.waitForSends(3)
        first.cancelAll()
        await #expect(throws: (any Error).self) { try await early.value }
        for call in waiting { #expect(try await call.value == "in") }
        #expect(provider.count == 2)
        #expect(clock.timerCount == 0)
    }
}
