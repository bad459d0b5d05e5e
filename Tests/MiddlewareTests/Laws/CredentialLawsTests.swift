// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeAuthentication
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

/// Gives t1, t2, … after a time that chance decides, or fails.
private final class DicedProvider: BearerTokenProvider {
    private struct State {
        var dice: Dice
        var begun = 0
        var underWay = 0
        var mostAtOnce = 0
        var given: [String] = []
    }

    private let state: Mutex<State>
    private let failures: Double

    init(_ seed: UInt64, failures: Double) {
        state = Mutex(State(dice: Dice(seed: seed)))
        self.failures = failures
    }

    var begun: Int { state.withLock { $0.begun } }
    var mostAtOnce: Int { state.withLock { $0.mostAtOnce } }
    var given: [String] { state.withLock { $0.given } }

    func token(
        replacing old: BearerToken?, by exchange: TokenExchange
    ) async throws -> BearerToken {
        let (number, wait, fails) = state.withLock { state in
            state.begun += 1
            state.underWay += 1
            state.mostAtOnce = max(state.mostAtOnce, state.underWay)
            return (state.begun, state.dice.roll(0...800), state.dice.chance(failures))
        }
        defer { state.withLock { $0.underWay -= 1 } }
        try await exchange.context.sleep(for: .milliseconds(wait))
        if fails { throw ClientError(.connection, "lost") }
        state.withLock { $0.given.append("t\(number)") }
        return BearerToken("t\(number)")
    }
}

@Suite("Laws of credentials")
struct CredentialLawsTests {
    @Test("With redirects, retries and refreshes a call is sent at most 12 times, hops apart")
    func sends() async throws {
        var most = 0
        for number in Law.runs { most = max(most, try await sends(number)) }
        #expect(
            most == 12 || Law.runs.count < 10_000, "the runs come to the limit that they are about")
    }

    private func sends(_ number: UInt64) async throws -> Int {
        try await Simulation(seed: Law.seed(number)).run { simulation in
            var dice = Dice(seed: Law.seed(number))
            let deadline = Duration.milliseconds(dice.roll(1...60_000))
            let isListed = dice.chance(0.5)
            var gates: [any Gate] = [
                Deadline(deadline), Redirect(),
                Retry(
                    attempts: dice.roll(1...14),
                    backoff: Backoff(base: .milliseconds(10), max: .milliseconds(100)), budget: nil),
            ]
            let tokens = BearerTokens(
                BearerToken("t0"), provider: DicedProvider(~number, failures: 0.1),
                policy: RefreshPolicy(maxRefreshes: 20))
            gates.append(
                BearerAuthentication(tokens, origins: isListed ? ["http://a.example"] : .own))
            let answers = Mutex(dice)
            let transport = WatchedTransport(simulation.clock) { request in
                answers.withLock { Self.answer(to: request, &$0) }
            }
            let client = Client(transport, clock: simulation.clock, seed: number, Stack(gates))
            _ = try? await client.get(anywhere).serialize(with: Text())
            let end = simulation.clock.now
            await client.shutdown(grace: .seconds(100))
            let sends = transport.sends
            let hops = sends.dropLast().count { $0.head?.status == 302 }
            Law.holds(sends.count - hops <= 12, number, "the send limit")
            Law.holds(hops <= 10, number, "the limit of hops")
            Law.holds(
                end <= MonotonicInstant(nanoseconds: 0).advanced(by: deadline), number,
                "the deadline")
            Law.holds(
                sends.allSatisfy { $0.head == nil ? $0.bodyEnds == 0 : $0.bodyEnds == 1 }, number,
                "that each body ends once")
            var wasAway = false
            for send in sends {
                wasAway = wasAway || send.request.origin?.host != "a.example"
                let isSigned = send.request.headers.contains(.authorization)
                Law.holds(isSigned != wasAway, number, "that a credential stays at its origin")
            }
            return sends.count - hops
        }
    }

    private static func answer(to request: Request, _ dice: inout Dice) -> MockResponse {
        let path = "/\(dice.roll(0...1_000_000))"
        let host = dice.chance(0.1) ? "b.example" : "a.example"
        return switch dice.roll(0...9) {
        case 0: .ok(text: "well")
        case 1, 2: .status(302, headers: ["Location": "http://\(host)\(path)"])
        case 3, 4: .status(401, body: Data("out".utf8))
        case 5: .connectionRefused
        default: .status(503, body: Data("ill".utf8))
        }
    }

    @Test("Each call that waits for a token gets the outcome of its refresh, or leaves")
    func waiters() async throws {
        for number in Law.runs { try await waiters(number) }
    }

    private enum End: Sendable, Equatable {
        case answered
        case refused
        case left
        case other(String)
    }

    private func waiters(_ number: UInt64) async throws {
        try await Simulation(seed: Law.seed(number)).run { simulation in
            var dice = Dice(seed: Law.seed(number))
            let clock = simulation.clock
            let provider = DicedProvider(~number, failures: dice.chance(0.5) ? 0.5 : 0)
            let most = dice.roll(1...5)
            let tokens = BearerTokens(
                BearerToken("t0"), provider: provider, policy: RefreshPolicy(maxRefreshes: most))
            let transport = MockTransport { request in
                let token = request.headers[.authorization]?.dropFirst(7)
                return token == "t0"
                    ? .status(401).delayed(by: .milliseconds(300)) : .ok(text: "in")
            }
            let client = Client(transport, clock: clock, [.bearer(tokens)])
            // Some come later, some have little time.
            let calls = (0..<dice.roll(2...12)).map { _ in
                (begin: dice.roll(0...900), limit: dice.chance(0.3) ? dice.roll(1...900) : nil)
            }
            let ends = await withTaskGroup(of: (Bool, End).self) { group in
                for (begin, limit) in calls {
                    group.addTask {
                        var call = client.get(anywhere)
                        if let limit { call = call.deadline(.milliseconds(limit)) }
                        try? await client.sleep(.milliseconds(begin))
                        return (limit != nil, await Self.end(of: call))
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            Law.holds(provider.mostAtOnce <= 1, number, "one refresh at a time")
            Law.holds(provider.given.count <= most, number, "the limit of replaced tokens")
            for (mayLeave, end) in ends {
                let isRight =
                    switch end {
                    case .answered: !provider.given.isEmpty
                    case .refused: provider.begun > provider.given.count
                    case .left: mayLeave
                    case .other: false
                    }
                Law.holds(isRight, number, "that the end of a call is its refresh's: \(end)")
            }
            await client.shutdown()
        }
    }

    private static func end(of call: Call) async -> End {
        do {
            return try await call.serialize(with: Text()) == "in" ? .answered : .other("content")
        } catch let error as ClientError where error.code == .auth {
            return .refused
        } catch let error as ClientError where error.code == .deadlineExceeded {
            return .left
        } catch {
            return .other("\(error)")
        }
    }
}

extension Client {
    /// Waits on the client's clock.
    fileprivate func sleep(_ duration: Duration) async throws {
        let alarm = OneShot<Void>()
        let timer = timeSource.schedule(after: duration) { alarm.settle(.success(())) }
        defer { timer.cancel() }
        try await alarm.value {}
    }
}
